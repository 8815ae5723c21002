#pragma once

/// Building blocks of kernels that work along rows of dense memory (softmax, norms): sums of
/// expressions in many lanes, rows of half elements as float.

#include <algorithm>
#include <memory>

#include "core/threads/parallel.h"
#include "core/types/dtype.h"
#include "cpu/dtype_switch.h"
#include "cpu/elements.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

#if defined(__AVX2__)
inline constexpr int64_t kSumBytes = 256;
#else
inline constexpr int64_t kSumBytes = 128;
#endif

/// Leaves the sum of 2 * width lanes in lane 0. The widths are known when compiling.
template <int64_t width, class C>
FLAMBEAU_INLINE void add_halves(C* lane) {
  if constexpr (width > 0) {
    for (int64_t j = 0; j < width; ++j) lane[j] += lane[j + width];
    add_halves<width / 2>(lane);
  }
}

/// Lanes of short rows, and of what long ones have behind whole sets of more.
template <class C>
inline constexpr int64_t kFewLanes = kSumBytes / 4 / static_cast<int64_t>(sizeof(C));

/// Adds term(i) for i in [begin, end) to kFewLanes lanes.
template <class C, class Term>
FLAMBEAU_INLINE void add_terms(int64_t begin, int64_t end, C* lane, const Term& term) {
  for (; begin + kFewLanes<C> <= end; begin += kFewLanes<C>) {
#pragma omp simd
    for (int64_t j = 0; j < kFewLanes<C>; ++j) lane[j] += term(begin + j);
  }
  C rest[kFewLanes<C>] = {};
#pragma omp simd
  for (int64_t j = 0; j < end - begin; ++j) rest[j] = term(begin + j);
  for (int64_t j = 0; j < kFewLanes<C>; ++j) lane[j] += rest[j];
}

/// sum of term(i) for i in [0, count): independent lanes, emptied into a second level every 64
/// steps, then added in pairs. `term` may also write element i somewhere.
template <class C, class Term>
FLAMBEAU_INLINE C sum_terms(int64_t count, const Term& term) {
  constexpr int64_t kLanes = kSumBytes / static_cast<int64_t>(sizeof(C));
  if (count < 64 * kFewLanes<C>) {
    C lane[kFewLanes<C>] = {};
    add_terms(0, count, lane, term);
    add_halves<kFewLanes<C> / 2>(lane);
    return lane[0];
  }
  C total[kLanes] = {};
  int64_t i = 0;
  while (i + kLanes <= count) {
    C lane[kLanes] = {};
    const int64_t end = std::min(i + 64 * kLanes, count - kLanes + 1);
    for (; i < end; i += kLanes) {
#pragma omp simd
      for (int64_t j = 0; j < kLanes; ++j) lane[j] += term(i + j);
    }
    for (int64_t j = 0; j < kLanes; ++j) total[j] += lane[j];
  }
  add_terms(i, count, total, term);
  add_halves<kLanes / 2>(total);
  return total[0];
}

/// Two sums of one pass: term(i, a, b) adds to a and b.
template <class C, class Term>
FLAMBEAU_INLINE void sum_pairs(int64_t count, C& first, C& second, const Term& term) {
  constexpr int64_t kLanes = kSumBytes / 2 / static_cast<int64_t>(sizeof(C));
  int64_t i = 0;
  if (count < kFewLanes<C>) {
    first = second = 0;
    for (; i < count; ++i) term(i, first, second);
    return;
  }
  C total_a[kLanes] = {}, total_b[kLanes] = {};
  while (i + kLanes <= count) {
    C a[kLanes] = {}, b[kLanes] = {};
    const int64_t end = std::min(i + 64 * kLanes, count - kLanes + 1);
    for (; i < end; i += kLanes) {
#pragma omp simd
      for (int64_t j = 0; j < kLanes; ++j) term(i + j, a[j], b[j]);
    }
    for (int64_t j = 0; j < kLanes; ++j) {
      total_a[j] += a[j];
      total_b[j] += b[j];
    }
  }
#pragma omp simd
  for (int64_t j = 0; j < count - i; ++j) term(i + j, total_a[j], total_b[j]);
  add_halves<kLanes / 2>(total_a);
  add_halves<kLanes / 2>(total_b);
  first = total_a[0];
  second = total_b[0];
}

inline void load_dense(bool* to, const Boolean* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i].byte != 0;
}

/// Rows of T as rows of Compute<T>: in place, or through a buffer where these differ.
template <class T>
class RowBuffer {
 public:
  using C = Compute<T>;
  static constexpr bool kConverts = !std::is_same_v<T, C>;
  explicit RowBuffer(int64_t count)
      : buffer_(kConverts ? std::make_unique_for_overwrite<C[]>(static_cast<size_t>(count))
                          : nullptr) {}
  const C* load(const T* row, int64_t count) {
    if constexpr (kConverts) {
      load_dense(buffer_.get(), row, count);
      return buffer_.get();
    } else {
      return row;
    }
  }
  /// Where to compute a row that store() then writes.
  C* target(T* row) {
    if constexpr (kConverts) {
      return buffer_.get();
    } else {
      return row;
    }
  }
  void store(T* row, int64_t count) const {
    if constexpr (kConverts) store_dense(row, buffer_.get(), count);
  }

 private:
  std::unique_ptr<C[]> buffer_;  // a vector packs bools
};

/// Asks for memory that is read soon.
template <class T>
FLAMBEAU_INLINE void fetch_ahead(const T* from, int64_t count) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + i);
}

/// Calls body(begin, end) over rows, on several threads when the work is worth it.
template <class Body>
void for_rows(int64_t rows, int64_t row_length, int64_t cost, const Body& body) {
  const int64_t work = std::max<int64_t>(1, row_length * cost);
  if (rows * work <= kGrain) {
    if (rows > 0) body(int64_t{0}, rows);
    return;
  }
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / work), body);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
