#include "cpu/nn/conv_types.h"
#include "cpu/rows.h"
#include "cpu/short_sums.h"
#include "kernels/segments.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The sum of `count` rows of `inner` elements.
template <class T>
[[gnu::noinline]] void sum_rows_of(T* to, const T* from, int64_t count, int64_t inner, T* part) {
  if (inner == 1) {
    *to = sum_terms<T>(count, [from](int64_t i) { return from[i]; });
    return;
  }
  sum_in_parts(to, count, inner, part, [=](T* target, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
#pragma omp simd
      for (int64_t k = 0; k < inner; ++k) target[k] += from[i * inner + k];
    }
  });
}

/// The sums of segments that follow one another, whose bounds are in `n` places.
template <class T>
void sum_segments(T* to, const T* from, const int64_t* bounds, int64_t count, int64_t n,
                  int64_t inner, T* part) {
  constexpr int64_t kFew = 8;
  // Lengths that are not checked may be anything.
  const auto inside = [n](int64_t place) { return std::clamp<int64_t>(place, 0, n); };
  int64_t first = inside(bounds[0]);
  for (int64_t s = 0; s < count; ++s) {
    const int64_t last = inside(bounds[s + 1]), length = std::max<int64_t>(last - first, 0);
    if (inner == 1 && length <= kFew) {
      T sum(0);
      for (int64_t i = first; i < first + length; ++i) sum += from[i];
      to[s] = sum;
    } else {
      sum_rows_of(to + s * inner, from + first * inner, length, inner, part);
    }
    first = last;
  }
}

}  // namespace

void segment_sums(const Tensor& result, const Tensor& data, const Tensor& bounds) {
  if (result.numel() == 0) return;
  const int64_t segments = result.size(1), n = data.size(1), inner = data.size(2);
  const Tensor all_bounds = contiguous_data(cast_data(bounds, DType::int64));
  const int64_t* const bound = all_bounds.data<int64_t>();
  const int64_t rows = result.size(0) * segments;
  with_float_compute(
      "segment_reduce", result,
      [&](auto zero, const Tensor& out, const Tensor& values) {
        using T = decltype(zero);
        T* const to = out.data<T>();
        const T* const from = values.data<T>();
        for_rows(rows, std::max<int64_t>(1, values.numel() / rows), 2,
                 [=](int64_t begin, int64_t end) {
                   std::vector<T> part(static_cast<size_t>(inner));
                   for (int64_t s = begin; s < end;) {
                     const int64_t row = s / segments;
                     const int64_t count = std::min(end, (row + 1) * segments) - s;
                     sum_segments(to + s * inner, from + row * n * inner, bound + row + s, count, n,
                                  inner, part.data());
                     s += count;
                   }
                 });
      },
      data);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
