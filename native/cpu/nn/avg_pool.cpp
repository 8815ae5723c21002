#include "cpu/nn/conv_types.h"
#include "cpu/nn/pool_geometry.h"

namespace flambeau::cpu {
namespace {

/// What a window's sum is divided by.
struct Divisor {
  bool count_padding = false;
  std::optional<int64_t> fixed;
  template <class T>
  T factor(const PoolGeometry& geometry, size_t i, size_t j) const {
    const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
    const int64_t count = fixed ? *fixed
                          : count_padding
                              ? rows.full[i] * columns.full[j]
                              : (rows.end[i] - rows.begin[i]) * (columns.end[j] - columns.begin[j]);
    return static_cast<T>(count);
  }
};

template <class T>
void average(const PoolGeometry& geometry, const Divisor& divisor, const T* input, T* result) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  over_planes(geometry, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* image = input + plane * geometry.input_plane();
      T* out = result + plane * geometry.output_plane();
      for (size_t i = 0; i < rows.begin.size(); ++i)
        for (size_t j = 0; j < columns.begin.size(); ++j) {
          T sum = 0;
          for (int64_t y = rows.begin[i]; y < rows.end[i]; ++y) {
            const T* row = image + y * geometry.input_columns;
            T row_sum = 0;
            for (int64_t x = columns.begin[j]; x < columns.end[j]; ++x) row_sum += row[x];
            sum += row_sum;
          }
          *out++ = sum / divisor.factor<T>(geometry, i, j);
        }
    }
  });
}

/// Spreads each gradient over its window.
template <class T>
void spread(const PoolGeometry& geometry, const Divisor& divisor, const T* grad, T* result) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  over_planes(geometry, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* g = grad + plane * geometry.output_plane();
      T* image = result + plane * geometry.input_plane();
      std::fill_n(image, geometry.input_plane(), T(0));
      for (size_t i = 0; i < rows.begin.size(); ++i)
        for (size_t j = 0; j < columns.begin.size(); ++j) {
          const T share = *g++ / divisor.factor<T>(geometry, i, j);
          for (int64_t y = rows.begin[i]; y < rows.end[i]; ++y) {
            T* row = image + y * geometry.input_columns;
            for (int64_t x = columns.begin[j]; x < columns.end[j]; ++x) row[x] += share;
          }
        }
    }
  });
}

void run_average(const char* op, const PoolGeometry& geometry, const Divisor& divisor,
                 const Tensor& result, const Tensor& input) {
  with_float_compute(
      op, result,
      [&](auto zero, const Tensor& out, const Tensor& x) {
        using T = decltype(zero);
        average(geometry, divisor, x.data<T>(), out.data<T>());
      },
      input);
}

void run_spread(const char* op, const PoolGeometry& geometry, const Divisor& divisor,
                const Tensor& result, const Tensor& grad) {
  with_float_compute(
      op, result,
      [&](auto zero, const Tensor& out, const Tensor& g) {
        using T = decltype(zero);
        spread(geometry, divisor, g.data<T>(), out.data<T>());
      },
      grad);
}

constexpr int64_t kNoDilation[] = {1, 1};

}  // namespace

void avg_pool2d(const Tensor& result, const Tensor& input, IntList kernel_size,
                std::optional<IntList> stride, IntList padding, bool, bool count_include_pad,
                std::optional<int64_t> divisor_override) {
  if (result.numel() == 0) return;
  run_average(
      "avg_pool2d",
      pool_geometry(input.sizes(), result.sizes(), kernel_size, stride, padding, kNoDilation),
      {count_include_pad, divisor_override}, result, input);
}

void avg_pool2d_grad(const Tensor& result, const Tensor& grad_output, IntList input_size,
                     IntList kernel_size, std::optional<IntList> stride, IntList padding, bool,
                     bool count_include_pad, std::optional<int64_t> divisor_override) {
  if (result.numel() == 0) return;
  run_spread(
      "avg_pool2d_grad",
      pool_geometry(input_size, grad_output.sizes(), kernel_size, stride, padding, kNoDilation),
      {count_include_pad, divisor_override}, result, grad_output);
}

void adaptive_avg_pool2d(const Tensor& result, const Tensor& input, IntList) {
  if (result.numel() == 0) return;
  run_average("adaptive_avg_pool2d", adaptive_geometry(input.sizes(), result.sizes()), {}, result,
              input);
}

void adaptive_avg_pool2d_grad(const Tensor& result, const Tensor& grad_output, IntList input_size) {
  if (result.numel() == 0) return;
  run_spread("adaptive_avg_pool2d_grad", adaptive_geometry(input_size, grad_output.sizes()), {},
             result, grad_output);
}

}  // namespace flambeau::cpu
