#include <utility>

#include "core/geometry/memory_format.h"
#include "core/geometry/shape_rules.h"
#include "core/tensor/views.h"
#include "cpu/channels_last.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/pool_channels.h"

namespace flambeau::cpu {
namespace {

/// Of a window whose sides may be so long that no integer holds their product.
double volume(int64_t layers, int64_t rows, int64_t columns) {
  return static_cast<double>(layers) * static_cast<double>(rows) * static_cast<double>(columns);
}

/// What each window's sum is divided by.
struct Divisor {
  bool count_padding = false;
  std::optional<int64_t> fixed;
  template <class T>
  std::vector<T> of_windows(const PoolGeometry& geometry) const {
    const PoolAxis &layers = geometry.layers, &rows = geometry.rows, &columns = geometry.columns;
    std::vector<T> result;
    result.reserve(layers.begin.size() * rows.begin.size() * columns.begin.size());
    const auto inside = [](const PoolAxis& axis, size_t i) { return axis.end[i] - axis.begin[i]; };
    for (size_t l = 0; l < layers.begin.size(); ++l)
      for (size_t i = 0; i < rows.begin.size(); ++i)
        for (size_t j = 0; j < columns.begin.size(); ++j) {
          const double count = fixed ? static_cast<double>(*fixed)
                               : count_padding
                                   ? volume(layers.full[l], rows.full[i], columns.full[j])
                                   : volume(inside(layers, l), inside(rows, i), inside(columns, j));
          result.push_back(static_cast<T>(count));
        }
    return result;
  }
};

/// Rows too short for vectors cost more.
int64_t cost(const PoolGeometry& geometry) { return geometry.output_columns < 32 ? 4 : 1; }

bool average_of_channels(const PoolGeometry& geometry, const Divisor& divisor, const Tensor& result,
                         const Tensor& input) {
  return over_channels(
      result, input, [&](auto zero, const Tensor& x, const auto& from, const auto& to) {
        using T = decltype(zero);
        const auto average = FLAMBEAU_PICK(average_channels<T>);
        const std::vector<T> divisors = divisor.of_windows<T>(geometry);
        over_channel_rows(geometry, to, geometry.window_rows(), [&](int64_t begin, int64_t end) {
          average(geometry, from, to, begin, end, divisors.data(), x.data<T>(), result.data<T>());
        });
      });
}

bool spread_over_channels(const PoolGeometry& geometry, const Divisor& divisor,
                          const Tensor& result, const Tensor& grad) {
  return over_channels(
      result, grad, [&](auto zero, const Tensor& g, const auto& from, const auto& to) {
        using T = decltype(zero);
        const auto spread = FLAMBEAU_PICK(spread_channels<T>);
        const std::vector<T> divisors = divisor.of_windows<T>(geometry);
        const int64_t rows = geometry.input_layers * geometry.input_rows;
        over_channel_rows(geometry, to, rows, [&](int64_t begin, int64_t end) {
          spread(geometry, from, to, begin, end, divisors.data(), g.data<T>(), result.data<T>());
        });
      });
}

/// Where a row-major result is wanted of images whose channels lie next to each other, it is a
/// copy.
bool through_channels(const PoolGeometry& geometry, const Divisor& divisor, const Tensor& result,
                      const Tensor& input) {
  if (!is_channels_last(input.sizes(), input.strides())) return false;
  const Tensor found = empty_channels_last(result.sizes(), result.dtype());
  if (!average_of_channels(geometry, divisor, found, input)) return false;
  copy_data(result, found);
  return true;
}

/// Images that lie by columns are pooled so: their results, which are fewer, are turned instead.
bool through_columns(const char* op, const PoolGeometry& geometry, const Divisor& divisor,
                     const Tensor& result, const Tensor& input);

void run_average(const char* op, const PoolGeometry& geometry, const Divisor& divisor,
                 const Tensor& result, const Tensor& input) {
  if (average_of_channels(geometry, divisor, result, input) ||
      through_channels(geometry, divisor, result, input) ||
      through_columns(op, geometry, divisor, result, input))
    return;
  with_pooled_type(op, result, input, [&](auto zero, const Tensor& out, const Tensor& x) {
    using T = decltype(zero);
    const std::vector<T> divisors = divisor.of_windows<T>(geometry);
    over_planes(
        geometry,
        [&](int64_t begin, int64_t end) {
          FLAMBEAU_PICK(average_windows<T>)
          (geometry, begin, end, divisors.data(), x.data<T>(), out.data<T>());
        },
        cost(geometry));
  });
}

bool through_columns(const char* op, const PoolGeometry& geometry, const Divisor& divisor,
                     const Tensor& result, const Tensor& input) {
  const auto turned = [](const Tensor& tensor) {
    return make_view(tensor, views::matrix_transpose(tensor));
  };
  const Tensor image = turned(input);
  if (input.is_contiguous() || !image.is_contiguous()) return false;
  PoolGeometry across = geometry;
  std::swap(across.input_rows, across.input_columns);
  std::swap(across.output_rows, across.output_columns);
  std::swap(across.rows, across.columns);
  const Tensor found = empty(turned(result).sizes(), result.dtype());
  run_average(op, across, divisor, found, image);
  copy_data(result, turned(found));
  return true;
}

void run_spread(const char* op, const PoolGeometry& geometry, const Divisor& divisor,
                const Tensor& result, const Tensor& grad) {
  if (spread_over_channels(geometry, divisor, result, grad)) return;
  through_rows(result, [&](const Tensor& image) {
    with_float_compute(
        op, image,
        [&](auto zero, const Tensor& out, const Tensor& g) {
          using T = decltype(zero);
          const std::vector<T> divisors = divisor.of_windows<T>(geometry);
          over_planes(
              geometry,
              [&](int64_t begin, int64_t end) {
                FLAMBEAU_PICK(spread_windows<T>)
                (geometry, begin, end, divisors.data(), g.data<T>(), out.data<T>());
              },
              cost(geometry));
        },
        grad);
  });
}

const Ints<2> kNoDilation({1, 1});
const Ints<3> kNoDeepDilation({1, 1, 1});

}  // namespace

void avg_pool2d(const Tensor& result, const Tensor& input, const Ints<2>& kernel_size,
                const std::optional<Ints<2>>& stride, const Ints<2>& padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override) {
  if (result.numel() == 0) return;
  run_average(
      "avg_pool2d",
      pool_geometry(input.sizes(), result.sizes(), kernel_size, stride, padding, kNoDilation),
      {count_include_pad, divisor_override}, result, input);
}

void avg_pool2d_grad(const Tensor& result, const Tensor& grad_output, IntList input_size,
                     const Ints<2>& kernel_size, const std::optional<Ints<2>>& stride,
                     const Ints<2>& padding, bool, bool count_include_pad,
                     std::optional<int64_t> divisor_override) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  run_spread(
      "avg_pool2d_grad",
      pool_geometry(input_size, grad_output.sizes(), kernel_size, stride, padding, kNoDilation),
      {count_include_pad, divisor_override}, result, grad_output);
}

void adaptive_avg_pool2d(const Tensor& result, const Tensor& input, const Ints<2>&) {
  if (result.numel() == 0) return;
  run_average("adaptive_avg_pool2d", adaptive_geometry(input.sizes(), result.sizes(), 2), {},
              result, input);
}

void adaptive_avg_pool2d_grad(const Tensor& result, const Tensor& grad_output, IntList input_size,
                              bool) {
  if (result.numel() == 0) return;
  // A side without windows: the other one may have more than can be listed.
  if (grad_output.numel() == 0) return fill_data(result, 0);
  run_spread("adaptive_avg_pool2d_grad", adaptive_geometry(input_size, grad_output.sizes(), 2), {},
             result, grad_output);
}

void avg_pool3d(const Tensor& result, const Tensor& input, const Ints<3>& kernel_size,
                const std::optional<Ints<3>>& stride, const Ints<3>& padding, bool,
                bool count_include_pad, std::optional<int64_t> divisor_override) {
  if (result.numel() == 0) return;
  run_average(
      "avg_pool3d",
      pool_geometry(input.sizes(), result.sizes(), kernel_size, stride, padding, kNoDeepDilation),
      {count_include_pad, divisor_override}, result, input);
}

void avg_pool3d_grad(const Tensor& result, const Tensor& grad_output, IntList input_size,
                     const Ints<3>& kernel_size, const std::optional<Ints<3>>& stride,
                     const Ints<3>& padding, bool, bool count_include_pad,
                     std::optional<int64_t> divisor_override) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  run_spread(
      "avg_pool3d_grad",
      pool_geometry(input_size, grad_output.sizes(), kernel_size, stride, padding, kNoDeepDilation),
      {count_include_pad, divisor_override}, result, grad_output);
}

void adaptive_avg_pool3d(const Tensor& result, const Tensor& input, const Ints<3>&) {
  if (result.numel() == 0) return;
  run_average("adaptive_avg_pool3d", adaptive_geometry(input.sizes(), result.sizes(), 3), {},
              result, input);
}

void adaptive_avg_pool3d_grad(const Tensor& result, const Tensor& grad_output, IntList input_size) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  run_spread("adaptive_avg_pool3d_grad", adaptive_geometry(input_size, grad_output.sizes(), 3), {},
             result, grad_output);
}

}  // namespace flambeau::cpu
