#include "cpu/nn/conv_types.h"
#include "cpu/rows.h"
#include "cpu/short_sums.h"
#include "kernels/segments.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The sum of `count` rows of `inner` elements.
template <class T>
void sum_rows_of(T* to, const T* from, int64_t count, int64_t inner, T* part) {
  constexpr int64_t kFew = 8;
  if (inner == 1 && count <= kFew) {
    T sum(0);
    for (int64_t i = 0; i < count; ++i) sum += from[i];
    *to = sum;
    return;
  }
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

}  // namespace

void segment_sums(const Tensor& result, const Tensor& data, const Tensor& bounds) {
  if (result.numel() == 0) return;
  const int64_t segments = result.size(1), n = data.size(1), inner = data.size(2);
  const Tensor all_bounds = contiguous_data(cast_data(bounds, DType::int64));
  const int64_t* const bound = all_bounds.data<int64_t>();
  const int64_t rows = result.size(0) * segments;
  // Lengths that are not checked may be anything.
  const auto inside = [n](int64_t place) { return std::clamp<int64_t>(place, 0, n); };
  with_float_compute(
      "segment_reduce", result,
      [&](auto zero, const Tensor& out, const Tensor& values) {
        using T = decltype(zero);
        T* const to = out.data<T>();
        const T* const from = values.data<T>();
        for_rows(rows, std::max<int64_t>(1, values.numel() / rows), 2,
                 [=](int64_t begin, int64_t end) {
                   std::vector<T> part(static_cast<size_t>(inner));
                   for (int64_t s = begin; s < end; ++s) {
                     const int64_t row = s / segments, at = row * (segments + 1) + s % segments;
                     const int64_t first = inside(bound[at]), last = inside(bound[at + 1]);
                     sum_rows_of(to + s * inner, from + (row * n + first) * inner,
                                 std::max<int64_t>(last - first, 0), inner, part.data());
                   }
                 });
      },
      data);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
