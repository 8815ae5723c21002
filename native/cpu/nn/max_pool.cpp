#include "cpu/blocks.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/pool_channels.h"

namespace flambeau::cpu {
namespace {

/// Null where nobody asks for places.
int64_t* places_of(const Tensor& indices) {
  return indices.defined() ? indices.data<int64_t>() : nullptr;
}

template <class T>
void max_windows(const PoolGeometry& geometry, const T* input, T* result, int64_t* indices) {
  const auto largest = FLAMBEAU_PICK(largest_of_windows<T>);
  over_planes(geometry, [&](int64_t begin, int64_t end) {
    if (indices == nullptr) return largest(geometry, begin, end, input, result);
    pool_kernels<T>().max(geometry, begin, end, input, result, indices);
  });
}

/// Where there are many results, it is they that would wait for memory.
bool max_of_channels(const PoolGeometry& geometry, const Tensor& result, const Tensor& indices,
                     const Tensor& input) {
  if (4 * result.numel() > input.numel()) return false;
  return over_channels(result, input, [&](auto zero, const ChannelImages& images) {
    using T = decltype(zero);
    over_window_rows(geometry, images, [&](int64_t begin, int64_t end) {
      channel_pool_kernels<T>().max(geometry, images, begin, end, input.data<T>(), result.data<T>(),
                                    places_of(indices));
    });
  });
}

/// Adds each gradient where its window's largest element stood. The places are checked: a caller
/// who has them may have written to them.
template <class T>
void scatter(int64_t planes, int64_t input_plane, int64_t output_plane, const T* grad,
             const int64_t* indices, T* result) {
  parallel_for(0, planes, std::max<int64_t>(1, kGrain / (input_plane + output_plane + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) {
                   T* out = result + plane * input_plane;
                   std::fill_n(out, input_plane, T(0));
                   for (int64_t i = plane * output_plane; i < (plane + 1) * output_plane; ++i) {
                     if (indices[i] == kNoPlace) continue;
                     check_index(indices[i], input_plane, -1, "max_pool2d");
                     out[indices[i]] += grad[i];
                   }
                 }
               });
}

int64_t last_two(IntList sizes) { return sizes[sizes.size() - 2] * sizes[sizes.size() - 1]; }

}  // namespace

void max_pool2d_with_indices(const Tensor& result, const Tensor& indices, const Tensor& input,
                             const Ints<2>& kernel_size, const std::optional<Ints<2>>& stride,
                             const Ints<2>& padding, const Ints<2>& dilation, bool, bool) {
  if (result.numel() == 0) return;
  const PoolGeometry geometry =
      pool_geometry(input.sizes(), result.sizes(), kernel_size, stride, padding, dilation);
  if (max_of_channels(geometry, result, indices, input)) return;
  with_pooled_type("max_pool2d", result, input, [&](auto zero, const Tensor& out, const Tensor& x) {
    using T = decltype(zero);
    max_windows(geometry, x.data<T>(), out.data<T>(), places_of(indices));
  });
}

void max_pool2d(const Tensor& result, const Tensor& indices, const Tensor& input,
                const Ints<2>& kernel_size, const std::optional<Ints<2>>& stride,
                const Ints<2>& padding, const Ints<2>& dilation, bool ceil_mode) {
  max_pool2d_with_indices(result, indices, input, kernel_size, stride, padding, dilation, ceil_mode,
                          true);
}

void adaptive_max_pool2d_with_indices(const Tensor& result, const Tensor& indices,
                                      const Tensor& input, const Ints<2>&) {
  if (result.numel() == 0) return;
  const PoolGeometry geometry = adaptive_geometry(input.sizes(), result.sizes());
  if (max_of_channels(geometry, result, indices, input)) return;
  with_float_compute(
      "adaptive_max_pool2d", result,
      [&](auto zero, const Tensor& out, const Tensor& x) {
        using T = decltype(zero);
        max_windows(geometry, x.data<T>(), out.data<T>(), places_of(indices));
      },
      input);
}

void adaptive_max_windows(const Tensor& result, const Tensor& indices, const Tensor& input,
                          const Ints<2>& output_size) {
  adaptive_max_pool2d_with_indices(result, indices, input, output_size);
}

void max_pool2d_grad(const Tensor& result, const Tensor& grad_output, const Tensor& indices,
                     IntList) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  const int64_t input_plane = last_two(result.sizes()),
                output_plane = last_two(grad_output.sizes());
  const Tensor places = contiguous_data(indices);
  with_float_compute(
      "max_pool2d_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& grad) {
        using T = decltype(zero);
        scatter(out.numel() / input_plane, input_plane, output_plane, grad.data<T>(),
                places.data<int64_t>(), out.data<T>());
      },
      grad_output);
}

/// The elements that the windows chose: what max_pool2d_grad is the adjoint of.
void max_pool2d_chosen(const Tensor& result, const Tensor& input, const Tensor& indices) {
  if (result.numel() == 0) return;
  const int64_t input_plane = last_two(input.sizes()), output_plane = last_two(result.sizes());
  const Tensor places = contiguous_data(indices);
  with_float_compute(
      "max_pool2d_chosen", result,
      [&](auto zero, const Tensor& out, const Tensor& x) {
        using T = decltype(zero);
        const int64_t* place = places.data<int64_t>();
        for (int64_t i = 0; i < out.numel(); ++i) {
          out.data<T>()[i] = T(0);
          if (place[i] == kNoPlace) continue;
          check_index(place[i], input_plane, -1, "max_pool2d");
          out.data<T>()[i] = x.data<T>()[i / output_plane * input_plane + place[i]];
        }
      },
      input);
}

}  // namespace flambeau::cpu
