#pragma once

#include <algorithm>
#include <cstdint>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"

/// Long rows that threads share.
namespace flambeau::cpu {

/// Elements of a row that are worth a thread.
inline constexpr int64_t kShare = int64_t{1} << 15;

/// How many threads share a row.
inline int64_t parts_of_row(int64_t length) {
  return in_parallel_region() ? 1 : std::clamp<int64_t>(length / kShare, 1, num_threads());
}

/// Calls body(part, begin, end) for each part of a row.
template <class Body>
void over_parts(int64_t length, int64_t parts, const Body& body) {
  parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part)
      body(part, length * part / parts, length * (part + 1) / parts);
  });
}

/// Calls body(begin, end) for ranges of a row, however many.
template <class Body>
void over_row(int64_t length, const Body& body) {
  parallel_for(0, length, kShare, [&](int64_t begin, int64_t end) {
    in_blocks(end - begin, [&](int64_t first, int64_t last) { body(begin + first, begin + last); });
  });
}

}  // namespace flambeau::cpu
