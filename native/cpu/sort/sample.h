#pragma once

#include <cstdint>

#include "core/base/macros.h"

namespace flambeau::cpu {

/// The i-th of `size` places of a sample of a row of `count`: somewhere in its share of the row,
/// the same in each run. What repeats at even distances does not look equal in this way.
FLAMBEAU_INLINE int64_t sample_place(int64_t i, int64_t size, int64_t count) {
  // Shares of the row are in 2^-32, and of a row of more elements in those of a part of it.
  const uint64_t index = static_cast<uint64_t>(i), total = static_cast<uint64_t>(count);
  const uint64_t within = (index + 1) * 0x9e3779b97f4a7c15u >> 48;
  const uint64_t share = ((index << 16 | within) << 16) / static_cast<uint64_t>(size);
  const int shift = total >> 32 == 0 ? 0 : 16;
  return static_cast<int64_t>((share >> shift) * total >> (32 - shift));
}

}  // namespace flambeau::cpu
