#include "core/geometry/memory_format.h"
#include "core/geometry/shape_rules.h"
#include "cpu/blocks.h"
#include "cpu/channels_last.h"
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
  const auto with_places = FLAMBEAU_PICK(largest_and_places<T>);
  over_planes(geometry, [&](int64_t begin, int64_t end) {
    if (indices == nullptr) return largest(geometry, begin, end, input, result);
    with_places(geometry, begin, end, input, result, indices);
  });
}

bool max_of_channels(const PoolGeometry& geometry, const Tensor& result, const Tensor& indices,
                     const Tensor& input) {
  return over_channels(
      result, input, [&](auto zero, const Tensor& x, const auto& from, const auto& to) {
        using T = decltype(zero);
        const auto largest = FLAMBEAU_PICK(largest_of_channels<T>);
        over_channel_rows(geometry, to, geometry.window_rows(), [&](int64_t begin, int64_t end) {
          largest(geometry, from, to, begin, end, x.data<T>(), result.data<T>(),
                  places_of(indices));
        });
      });
}

/// Where a row-major result is wanted of images whose channels lie next to each other, it is a
/// copy.
bool through_channels(const PoolGeometry& geometry, const Tensor& result, const Tensor& indices,
                      const Tensor& input) {
  if (!is_channels_last(input.sizes(), input.strides())) return false;
  const Tensor found = empty_channels_last(result.sizes(), result.dtype());
  const Tensor places =
      indices.defined() ? empty_channels_last(indices.sizes(), indices.dtype()) : indices;
  if (!max_of_channels(geometry, found, places, input)) return false;
  copy_data(result, found);
  if (indices.defined()) copy_data(indices, places);
  return true;
}

void pool_largest(const char* op, const PoolGeometry& geometry, const Tensor& result,
                  const Tensor& indices, const Tensor& input) {
  if (max_of_channels(geometry, result, indices, input) ||
      through_channels(geometry, result, indices, input))
    return;
  through_rows(indices, [&](const Tensor& places) {
    with_pooled_type(op, result, input, [&](auto zero, const Tensor& out, const Tensor& x) {
      using T = decltype(zero);
      max_windows(geometry, x.data<T>(), out.data<T>(), places_of(places));
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

/// The same of channels next to each other, those of a pixel in turn.
template <class T>
void scatter_channels(const ChannelImages& to, int64_t input_plane, int64_t output_plane,
                      const T* grad, const int64_t* indices, T* result) {
  constexpr int64_t kLeast = 64;  // channels of a part
  const int64_t channels = to.channels;
  const int64_t parts = to.images > 1 ? 1 : std::max<int64_t>(1, channels / kLeast);
  const int64_t grain = std::max<int64_t>(1, kGrain * parts / (channels * (input_plane + 1)));
  parallel_for(0, to.images * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t image = part / parts, at = part % parts;
      const int64_t first = at * kLeast, last = at + 1 == parts ? channels : first + kLeast;
      T* const out = result + image * input_plane * channels;
      if (parts == 1) {
        std::fill_n(out, input_plane * channels, T(0));
      } else {
        for (int64_t i = 0; i < input_plane; ++i)
          std::fill_n(out + i * channels + first, last - first, T(0));
      }
      for (int64_t i = image * output_plane; i < (image + 1) * output_plane; ++i)
        for (int64_t c = first; c < last; ++c) {
          const int64_t place = indices[i * channels + c];
          if (place == kNoPlace) continue;
          check_index(place, input_plane, -1, "max_pool2d");
          out[place * channels + c] += grad[i * channels + c];
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
  pool_largest("max_pool2d", geometry, result, indices, input);
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
  pool_largest("adaptive_max_pool2d", adaptive_geometry(input.sizes(), result.sizes(), 2), result,
               indices, input);
}

void adaptive_max_windows(const Tensor& result, const Tensor& indices, const Tensor& input,
                          const Ints<2>& output_size) {
  adaptive_max_pool2d_with_indices(result, indices, input, output_size);
}

void max_pool3d_with_indices(const Tensor& result, const Tensor& indices, const Tensor& input,
                             const Ints<3>& kernel_size, const std::optional<Ints<3>>& stride,
                             const Ints<3>& padding, const Ints<3>& dilation, bool) {
  if (result.numel() == 0) return;
  const PoolGeometry geometry =
      pool_geometry(input.sizes(), result.sizes(), kernel_size, stride, padding, dilation);
  pool_largest("max_pool3d", geometry, result, indices, input);
}

void max_pool3d(const Tensor& result, const Tensor& indices, const Tensor& input,
                const Ints<3>& kernel_size, const std::optional<Ints<3>>& stride,
                const Ints<3>& padding, const Ints<3>& dilation, bool ceil_mode) {
  max_pool3d_with_indices(result, indices, input, kernel_size, stride, padding, dilation,
                          ceil_mode);
}

void adaptive_max_pool3d_with_indices(const Tensor& result, const Tensor& indices,
                                      const Tensor& input, const Ints<3>&) {
  if (result.numel() == 0) return;
  pool_largest("adaptive_max_pool3d", adaptive_geometry(input.sizes(), result.sizes(), 3), result,
               indices, input);
}

void adaptive_max_pool3d(const Tensor& result, const Tensor& indices, const Tensor& input,
                         const Ints<3>& output_size) {
  adaptive_max_pool3d_with_indices(result, indices, input, output_size);
}

void max_pool2d_grad(const Tensor& result, const Tensor& grad_output, const Tensor& indices,
                     IntList) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  const int64_t input_plane = last_two(result.sizes()),
                output_plane = last_two(grad_output.sizes());
  const bool are_channels = over_channels(
      result, grad_output,
      [&](auto zero, const Tensor& grad, const auto&, const auto& to) {
        using T = decltype(zero);
        const Tensor dense = dense_pixels(grad), places = dense_pixels(indices);
        scatter_channels(to, input_plane, output_plane, dense.data<T>(), places.data<int64_t>(),
                         result.data<T>());
      },
      2);
  if (are_channels) return;
  const Tensor places = contiguous_data(indices);
  through_rows(result, [&](const Tensor& rows) {
    with_float_compute(
        "max_pool2d_grad", rows,
        [&](auto zero, const Tensor& out, const Tensor& grad) {
          using T = decltype(zero);
          scatter(out.numel() / input_plane, input_plane, output_plane, grad.data<T>(),
                  places.data<int64_t>(), out.data<T>());
        },
        grad_output);
  });
}

/// The elements that the windows chose: what max_pool2d_grad is the adjoint of.
void max_pool2d_chosen(const Tensor& result, const Tensor& input, const Tensor& indices) {
  if (result.numel() == 0) return;
  const int64_t input_plane = last_two(input.sizes()), output_plane = last_two(result.sizes());
  const Tensor places = contiguous_data(indices);
  through_rows(result, [&](const Tensor& rows) {
    with_float_compute(
        "max_pool2d_chosen", rows,
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
  });
}

}  // namespace flambeau::cpu
