#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/base/macros.h"

/// Rows that are too short for a call each: they are moved in blocks, of which the last one
/// overlaps the one before.
namespace flambeau::cpu {

template <int64_t block>
FLAMBEAU_INLINE void copy_blocks(void* to, const void* from, int64_t bytes) {
  char* const target = static_cast<char*>(to);
  const char* const source = static_cast<const char*>(from);
  for (int64_t at = 0; at + block < bytes; at += block) memcpy(target + at, source + at, block);
  memcpy(target + bytes - block, source + bytes - block, block);
}

template <class T>
FLAMBEAU_INLINE void copy_row(T* to, const T* from, int64_t count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  if (bytes < 8) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  } else if (bytes < 16) {
    copy_blocks<8>(to, from, bytes);
  } else if (bytes < 32) {
    copy_blocks<16>(to, from, bytes);
  } else if (bytes < 128) {
    copy_blocks<32>(to, from, bytes);
  } else {
    memcpy(to, from, static_cast<size_t>(bytes));
  }
}

template <class T>
FLAMBEAU_INLINE void fill_row(T* to, T value, int64_t count) {
  constexpr int64_t kBlock = 32 / static_cast<int64_t>(sizeof(T));
  if (count < kBlock) {
    for (int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  T block[kBlock];
  std::fill_n(block, kBlock, value);
  for (int64_t at = 0; at + kBlock < count; at += kBlock) memcpy(to + at, block, sizeof block);
  memcpy(to + count - kBlock, block, sizeof block);
}

}  // namespace flambeau::cpu
