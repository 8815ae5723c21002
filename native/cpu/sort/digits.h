#pragma once

#include "cpu/sort/keys.h"

/// Sorting by digits of 11 bits, of which those that all keys share are skipped: the lowest first
/// where there are few, else the highest first. Short rows are sorted by comparison.
namespace flambeau::cpu {

/// How many low bits of keys are not the same in all; at least `enough`, if that is reached first.
int differing_bits(const uint32_t* keys, int64_t count, int enough);
int differing_bits(const uint64_t* keys, int64_t count, int enough);

inline constexpr int kDigitBits = 11;

/// `scratch` is as long. Items are listed in order of position.
void sort_by_digits(uint32_t* keys, uint32_t* scratch, int64_t count);
void sort_by_digits(uint64_t* keys, uint64_t* scratch, int64_t count);
void sort_by_digits(WideItem* items, WideItem* scratch, int64_t count);
/// Of keys of 32 bits.
void sort_items_by_digits(uint64_t* items, uint64_t* scratch, int64_t count);

}  // namespace flambeau::cpu
