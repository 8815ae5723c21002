#include <array>
#include <cmath>

#include "cpu/index/segment_runs.h"
#include "cpu/math.h"
#include "cpu/nn/conv_types.h"
#include "cpu/rows.h"
#include "kernels/segments.h"

#include "core/math/extrema.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

struct Larger {
  template <class T>
  FLAMBEAU_INLINE T operator()(T a, T b) const {
    return math::maximum(a, b);
  }
};
struct Smaller {
  template <class T>
  FLAMBEAU_INLINE T operator()(T a, T b) const {
    return math::minimum(a, b);
  }
};

/// Of `start` and `count` elements; NaN if there is one.
template <class T, class Choose>
T extremum(T start, const T* x, int64_t count, const Choose& choose) {
  constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T)), kFew = 8;
  int64_t i = 0;
  if (count >= 2 * kLanes) {
    T lane[kLanes];
    std::copy_n(x, kLanes, lane);
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
#pragma omp simd
      for (int64_t j = 0; j < kLanes; ++j) lane[j] = choose(lane[j], x[i + j]);
    }
    for (const T found : lane) start = choose(start, found);
  } else if (count > 0 && count <= kFew) {
    // The last one again in place of those that lack: how often a loop runs would be a guess.
    T each[kFew];
    for (int64_t j = 0; j < kFew; ++j) each[j] = x[std::min(j, count - 1)];
    for (int64_t width = kFew / 2; width > 0; width /= 2)
      for (int64_t j = 0; j < width; ++j) each[j] = choose(each[2 * j], each[2 * j + 1]);
    return choose(start, each[0]);
  }
  for (; i < count; ++i) start = choose(start, x[i]);
  return start;
}

/// Of each column of rows that are `pitch` apart.
template <class T, class Choose>
void extrema_of_columns(T* to, T start, const T* x, int64_t count, int64_t pitch, int64_t columns,
                        const Choose& choose) {
  std::fill_n(to, columns, start);
  for (int64_t i = 0; i < count; ++i) {
    const T* const row = x + i * pitch;
#pragma omp simd
    for (int64_t k = 0; k < columns; ++k) to[k] = choose(to[k], row[k]);
  }
}

template <class T, class Choose>
void extrema(T* to, const T* from, const Tensor& data, const Tensor& bounds, T start,
             const Choose& choose) {
  const int64_t segments = bounds.size(1) - 1, n = data.size(1), inner = data.size(2);
  SegmentRuns(bounds, n).parts(inner, [=](const SegmentRuns::Part& part) {
    T* const target = to + (part.row * segments + part.segment) * inner + part.column;
    const T* const x = from + (part.row * n + part.first) * inner + part.column;
    const int64_t count = part.last - part.first;
    if (inner == 1) {
      *target = extremum(start, x, count, choose);
    } else {
      extrema_of_columns(target, start, x, count, inner, part.columns, choose);
    }
  });
}

/// An extremum, or NaN, which only NaN leads to.
template <class T>
FLAMBEAU_INLINE bool is_chosen(T x, T extremum) {
  return x == extremum || x != x;
}

/// To each of some elements that is the extremum an equal part of the gradient.
template <class T>
void share(T* to, const T* x, int64_t count, T extremum, T grad) {
  constexpr int64_t kFew = 16;
  if (count < kFew) {
    int chosen = 0;
    for (int64_t i = 0; i < count; ++i) chosen += is_chosen(x[i], extremum);
    const T part = chosen > 1 ? grad / static_cast<T>(chosen) : grad;
    for (int64_t i = 0; i < count; ++i) to[i] = is_chosen(x[i], extremum) ? part : T(0);
    return;
  }
  const T chosen =
      sum_terms<T>(count, [=](int64_t i) { return is_chosen(x[i], extremum) ? T(1) : T(0); });
  const T part = grad / std::max(chosen, T(1));
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = is_chosen(x[i], extremum) ? part : T(0);
}

/// The same of each column of rows that are `pitch` apart.
template <class T>
void share_columns(T* to, const T* x, int64_t count, int64_t pitch, int64_t columns,
                   const T* extremum, const T* grad) {
  constexpr int64_t kWidth = 256;
  std::array<T, kWidth> part;
  for (int64_t begin = 0; begin < columns; begin += kWidth) {
    const int64_t width = std::min(kWidth, columns - begin);
    const T *const top = extremum + begin, *const slope = grad + begin;
    std::fill_n(part.begin(), width, T(0));
    for (int64_t i = 0; i < count; ++i) {
      const T* const row = x + i * pitch + begin;
#pragma omp simd
      for (int64_t k = 0; k < width; ++k) part[k] += is_chosen(row[k], top[k]) ? T(1) : T(0);
    }
#pragma omp simd
    for (int64_t k = 0; k < width; ++k) part[k] = slope[k] / std::max(part[k], T(1));
    for (int64_t i = 0; i < count; ++i) {
      const T* const row = x + i * pitch + begin;
      T* const target = to + i * pitch + begin;
#pragma omp simd
      for (int64_t k = 0; k < width; ++k) target[k] = is_chosen(row[k], top[k]) ? part[k] : T(0);
    }
  }
}

}  // namespace

void segment_extrema(const Tensor& result, const Tensor& data, const Tensor& bounds,
                     const Scalar& initial, bool largest) {
  if (result.numel() == 0) return;
  with_float_compute(
      "segment_reduce", result,
      [&](auto zero, const Tensor& out, const Tensor& values) {
        using T = decltype(zero);
        const T start = initial.to<T>();
        T* const to = out.data<T>();
        const T* const from = values.data<T>();
        if (largest) return extrema(to, from, values, bounds, start, Larger());
        extrema(to, from, values, bounds, start, Smaller());
      },
      data);
}

void segment_extrema_grad(const Tensor& result, const Tensor& grad_output, const Tensor& data,
                          const Tensor& extrema, const Tensor& bounds) {
  if (result.numel() == 0) return;
  const int64_t n = data.size(1), inner = data.size(2), segments = extrema.size(1);
  with_float_compute(
      "segment_reduce", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& values,
          const Tensor& found) {
        using T = decltype(zero);
        T* const to = out.data<T>();
        const T *const x = values.data<T>(), *const slopes = grad.data<T>();
        const T* const tops = found.data<T>();
        SegmentRuns(bounds, n).parallel(
            2 * inner, [=](int64_t first, int64_t last, int64_t row, int64_t segment) {
              const int64_t at = (row * n + first) * inner, count = last - first;
              if (segment == segments) {
                std::fill_n(to + at, count * inner, T(0));
                return;
              }
              const int64_t own = (row * segments + segment) * inner;
              if (inner == 1) return share(to + at, x + at, count, tops[own], slopes[own]);
              share_columns(to + at, x + at, count, inner, inner, tops + own, slopes + own);
            });
      },
      grad_output, data, extrema);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
