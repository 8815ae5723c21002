#include "cpu/index/segment_runs.h"
#include "cpu/nn/conv_types.h"
#include "cpu/reduce/product_of_others.h"
#include "kernels/segments.h"

/// Products are computed in double, as those of `prod`.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class T>
double product_of(const T* x, int64_t count) {
  constexpr int64_t kFew = 32;  // elements that lanes are not worth their start for
  if (count >= kFew) return product<double>(x, count);
  double total = 1;
  for (int64_t i = 0; i < count; ++i) total *= static_cast<double>(x[i]);
  return total;
}

/// Of each column of rows that are `pitch` apart.
template <class T>
void product_of_columns(T* to, double start, const T* x, int64_t count, int64_t pitch,
                        int64_t columns) {
  constexpr int64_t kWidth = 64;
  double total[kWidth];
  for (int64_t begin = 0; begin < columns; begin += kWidth) {
    const int64_t width = std::min(kWidth, columns - begin);
    std::fill_n(total, width, start);
    for (int64_t i = 0; i < count; ++i) {
      const T* const row = x + i * pitch + begin;
#pragma omp simd
      for (int64_t k = 0; k < width; ++k) total[k] *= static_cast<double>(row[k]);
    }
    for (int64_t k = 0; k < width; ++k) to[begin + k] = static_cast<T>(total[k]);
  }
}

/// Gradients of one segment: of its product each element's slope is the product of the others.
template <class T>
void slopes_of_segment(T* to, const T* x, int64_t count, int64_t inner, const T* grad,
                       double start) {
  if (inner > 1) {
    constexpr int64_t kWidth = 256;
    for (int64_t column = 0; column < inner; column += kWidth)
      others_of_columns(to + column, x + column, count, inner, std::min(kWidth, inner - column),
                        start);
  } else if (count <= kElements) {
    const double own = product_of(x, count);
    if (may_divide<T>(own, start, own * start)) {
      const double slope = static_cast<double>(*grad) * (own * start);
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(slope / static_cast<double>(x[i]));
      return;
    }
    others_of_block(to, x, count, own, start);
  } else {
    others_of_row(to, x, count, start);
  }
  for (int64_t i = 0; i < count; ++i) {
#pragma omp simd
    for (int64_t k = 0; k < inner; ++k) to[i * inner + k] *= grad[k];
  }
}

/// A number, and how it changes along a direction.
struct Moving {
  double value, slope;
  Moving operator*(Moving other) const {
    return {value * other.value, value * other.slope + slope * other.value};
  }
};

/// How the products of the others change along a direction, in one column.
template <class T>
void changes_of_column(T* to, const T* x, const T* along, int64_t count, int64_t pitch, T grad,
                       double start) {
  std::vector<Moving> before(static_cast<size_t>(count));
  const auto element = [=](int64_t i) {
    return Moving{static_cast<double>(x[i * pitch]), static_cast<double>(along[i * pitch])};
  };
  Moving total{start, 0};
  for (int64_t i = 0; i < count; ++i) {
    before[static_cast<size_t>(i)] = total;
    total = total * element(i);
  }
  Moving behind{1, 0};
  for (int64_t i = count; i-- > 0;) {
    to[i * pitch] = grad * static_cast<T>((before[static_cast<size_t>(i)] * behind).slope);
    behind = element(i) * behind;
  }
}

/// body(at, count, segment) for the places of each segment, counted over all rows; 0 elsewhere.
template <class T, class Body>
void each_segment(T* to, const Tensor& bounds, int64_t n, int64_t inner, const Body& body) {
  const int64_t segments = bounds.size(1) - 1;
  SegmentRuns(bounds, n).parallel(
      4 * inner, [&](int64_t first, int64_t last, int64_t row, int64_t segment) {
        const int64_t at = (row * n + first) * inner;
        if (segment < segments) return body(at, last - first, (row * segments + segment) * inner);
        std::fill_n(to + at, (last - first) * inner, T(0));
      });
}

}  // namespace

void segment_products(const Tensor& result, const Tensor& data, const Tensor& bounds,
                      const Scalar& initial) {
  if (result.numel() == 0) return;
  const int64_t n = data.size(1), inner = data.size(2), segments = result.size(1);
  const double start = initial.to<double>();
  with_float_compute(
      "segment_reduce", result,
      [&](auto zero, const Tensor& out, const Tensor& values) {
        using T = decltype(zero);
        T* const to = out.data<T>();
        const T* const from = values.data<T>();
        SegmentRuns(bounds, n).parts(inner, [=](const SegmentRuns::Part& part) {
          T* const target = to + (part.row * segments + part.segment) * inner + part.column;
          const T* const x = from + (part.row * n + part.first) * inner + part.column;
          const int64_t count = part.last - part.first;
          if (inner > 1) return product_of_columns(target, start, x, count, inner, part.columns);
          *target = static_cast<T>(start * product_of(x, count));
        });
      },
      data);
}

void segment_products_grad(const Tensor& result, const Tensor& grad_output, const Tensor& data,
                           const Tensor& bounds, const Scalar& initial) {
  if (result.numel() == 0) return;
  const int64_t n = data.size(1), inner = data.size(2);
  const double start = initial.to<double>();
  with_float_compute(
      "segment_reduce", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& values) {
        using T = decltype(zero);
        T* const to = out.data<T>();
        const T *const x = values.data<T>(), *const slopes = grad.data<T>();
        each_segment(to, bounds, n, inner, [=](int64_t at, int64_t count, int64_t own) {
          slopes_of_segment(to + at, x + at, count, inner, slopes + own, start);
        });
      },
      grad_output, data);
}

void segment_products_curvature(const Tensor& result, const Tensor& grad_output,
                                const Tensor& direction, const Tensor& data, const Tensor& bounds,
                                const Scalar& initial) {
  if (result.numel() == 0) return;
  const int64_t n = data.size(1), inner = data.size(2);
  const double start = initial.to<double>();
  with_float_compute(
      "segment_reduce", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& along,
          const Tensor& values) {
        using T = decltype(zero);
        T* const to = out.data<T>();
        const T *const x = values.data<T>(), *const v = along.data<T>();
        const T* const slopes = grad.data<T>();
        each_segment(to, bounds, n, inner, [=](int64_t at, int64_t count, int64_t own) {
          for (int64_t k = 0; k < inner; ++k)
            changes_of_column(to + at + k, x + at + k, v + at + k, count, inner, slopes[own + k],
                              start);
        });
      },
      grad_output, direction, data);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
