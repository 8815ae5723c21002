#pragma once

#include "cpu/sort/keys.h"

/// Sorting of keys and of items, on several threads where there are many. `spare` is as long.
namespace flambeau::cpu {

void sort_keys(uint32_t* keys, uint32_t* spare, int64_t count);
void sort_keys(uint64_t* keys, uint64_t* spare, int64_t count);
/// Items that are listed in order of position.
void sort_items(uint64_t* items, uint64_t* spare, int64_t count);
void sort_items(WideItem* items, WideItem* spare, int64_t count);

}  // namespace flambeau::cpu
