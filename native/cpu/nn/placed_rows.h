#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

// Left factors of tiles (cpu/linalg/tile.h) that are read where they lie. Include only from
// *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Rows of a that start anywhere; step p of all of them lies places[p] further.
template <class T>
struct PlacedRows {
  const T* data;
  const int64_t *offsets, *places;
  T at(int i) const { return data[offsets[i] + *places]; }
  void advance() { ++places; }
};

/// Rows that are `row` apart; step p of the first lies at data + offsets[p].
template <class T>
struct OffsetRows {
  const T* data;
  int64_t row;
  const int64_t* offsets;
  T at(int i) const { return data[*offsets + i * row]; }
  void advance() { ++offsets; }
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA
