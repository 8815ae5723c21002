#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/rows.h"

/// For each element the product of the others. Of a block of a row it is the product of all by the
/// element, where nothing is lost by that, else what stands before times what stands behind.
/// Include only from *.simd.cpp files.
namespace flambeau::cpu::FLAMBEAU_ISA {

inline constexpr int64_t kElements = 128;  // of a block

template <class T>
struct Wide {
  using type = double;
};
template <class Real>
struct Wide<complex<Real>> {
  using type = complex<double>;
};
template <class T>
using WideOf = typename Wide<T>::type;

template <class A, class T>
A product(const T* x, int64_t count) {
  constexpr int64_t kLanes = 16;
  A lane[kLanes];
  std::fill_n(lane, kLanes, A(1));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (int64_t j = 0; j < kLanes; ++j) lane[j] = lane[j] * static_cast<A>(x[i + j]);
  }
  for (; i < count; ++i) lane[0] = lane[0] * static_cast<A>(x[i]);
  for (int64_t j = 1; j < kLanes; ++j) lane[0] = lane[0] * lane[j];
  return lane[0];
}

/// Whether `own`, the product of a block, and `whole`, that of the row, may be divided by elements:
/// neither zeros nor NaN are among them, and as many digits are left as T has. What is 0 or
/// infinite without the block stays so.
template <class T>
FLAMBEAU_INLINE bool may_divide(double own, double outside, double whole) {
  using Limits = std::numeric_limits<T>;
  const bool digits = std::abs(whole) >= static_cast<double>(Limits::min()) &&
                      std::abs(whole) <= static_cast<double>(Limits::max());
  return std::isnormal(own) && (digits || outside == 0 || std::isinf(outside));
}

template <class A, class T>
void others_of_block(T* out, const T* x, int64_t count, A own, A outside) {
  if constexpr (std::is_same_v<A, double>) {
    const double whole = own * outside;
    if (may_divide<T>(own, outside, whole)) {
      const T product = static_cast<T>(whole);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) out[i] = product / x[i];
      return;
    }
  }
  A before[kElements], total = outside;
  for (int64_t i = 0; i < count; ++i) {
    before[i] = total;
    total = total * static_cast<A>(x[i]);
  }
  A behind(1);
  for (int64_t i = count; i-- > 0;) {
    out[i] = static_cast<T>(before[i] * behind);
    behind = behind * static_cast<A>(x[i]);
  }
}

/// Of a row, and of `start`.
template <class T>
void others_of_row(T* out, const T* x, int64_t n, WideOf<T> start) {
  using A = WideOf<T>;
  const int64_t blocks = (n + kElements - 1) / kElements;
  std::vector<A> own(static_cast<size_t>(blocks)), outside(own.size());
  const auto each = [&](const auto& body) {
    parallel_for(0, blocks, kGrain / kElements, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b)
        body(static_cast<size_t>(b), b * kElements, std::min(kElements, n - b * kElements));
    });
  };
  each([&](size_t b, int64_t at, int64_t count) { own[b] = product<A>(x + at, count); });
  A total = start;
  for (size_t b = 0; b < own.size(); ++b) {
    outside[b] = total;
    total = total * own[b];
  }
  total = A(1);
  for (size_t b = own.size(); b-- > 0;) {
    outside[b] = outside[b] * total;
    total = total * own[b];
  }
  each([&](size_t b, int64_t at, int64_t count) {
    others_of_block(out + at, x + at, count, own[b], outside[b]);
  });
}

/// Of some neighbouring columns of n rows that are `pitch` apart, and of `start`.
template <class T>
void others_of_columns(T* out, const T* x, int64_t n, int64_t pitch, int64_t columns,
                       WideOf<T> start) {
  using A = WideOf<T>;
  std::vector<A> total(static_cast<size_t>(columns), start);
  in_blocks(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        out[i * pitch + c] = static_cast<T>(total[static_cast<size_t>(c)]);
        total[static_cast<size_t>(c)] =
            total[static_cast<size_t>(c)] * static_cast<A>(x[i * pitch + c]);
      }
    }
  });
  std::fill(total.begin(), total.end(), A(1));
  in_blocks(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = n - 1 - begin; i >= n - end; --i) {
      for (int64_t c = 0; c < columns; ++c) {
        A& behind = total[static_cast<size_t>(c)];
        out[i * pitch + c] = static_cast<T>(static_cast<A>(out[i * pitch + c]) * behind);
        behind = behind * static_cast<A>(x[i * pitch + c]);
      }
    }
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
