#include <cmath>

#include "cpu/nn/conv_types.h"
#include "cpu/nn/pool_kernel.h"
#include "kernels/fractional.h"

namespace flambeau::cpu {
namespace {

/// Where the windows of a dim begin, computed in the samples' type as the declared formula has it.
template <class S>
void set_starts(int64_t* starts, int64_t parts, int64_t length, int64_t kernel, S sample) {
  const S step =
      parts > 1
          ? static_cast<S>(static_cast<double>(length - kernel) / static_cast<double>(parts - 1))
          : S(0);
  const int64_t last = length - kernel;
  for (int64_t i = 0; i + 1 < parts; ++i) {
    const S start = std::trunc((static_cast<S>(i) + sample) * step) - std::trunc(sample * step);
    // Of numbers that are none, or not between 0 and 1, windows lie inside all the same.
    const S inside = start > 0 ? std::min(start, static_cast<S>(last)) : S(0);
    starts[i] = std::min(static_cast<int64_t>(inside), last);
  }
  starts[parts - 1] = last;
}

/// Windows of volumes; planes are volumes of one layer.
struct Windows {
  int64_t sizes[3], kernel[3], parts[3];
  int sample_of[3];  ///< which of a volume's random numbers places a dim; negative: none
  int samples;

  int64_t elements() const { return sizes[0] * sizes[1] * sizes[2]; }
  int64_t count() const { return parts[0] * parts[1] * parts[2]; }

  /// The largest element of the window that begins at `at`; the first NaN where there are some.
  template <class T>
  int64_t largest(const T* volume, const int64_t* at) const {
    int64_t best = (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
    T value = volume[best];
    if (std::isnan(value)) return best;
    for (int64_t z = at[0]; z < at[0] + kernel[0]; ++z) {
      for (int64_t y = at[1]; y < at[1] + kernel[1]; ++y) {
        const int64_t line = (z * sizes[1] + y) * sizes[2];
        for (int64_t place = line + at[2]; place < line + at[2] + kernel[2]; ++place) {
          const T candidate = volume[place];
          if (candidate <= value) continue;
          best = place;
          value = candidate;
          if (std::isnan(value)) return best;
        }
      }
    }
    return best;
  }

  template <class T, class S>
  void find(const T* volume, const S* drawn, int64_t* starts, T* result, int64_t* indices) const {
    int64_t* const of_dim[3] = {starts, starts + parts[0], starts + parts[0] + parts[1]};
    for (int d = 0; d < 3; ++d)
      set_starts(of_dim[d], parts[d], sizes[d], kernel[d],
                 sample_of[d] < 0 ? S(0) : drawn[sample_of[d]]);
    for (int64_t z = 0; z < parts[0]; ++z) {
      for (int64_t y = 0; y < parts[1]; ++y) {
        for (int64_t x = 0; x < parts[2]; ++x) {
          const int64_t at[3] = {of_dim[0][z], of_dim[1][y], of_dim[2][x]};
          *indices = largest(volume, at);
          *result++ = volume[*indices++];
        }
      }
    }
  }
};

void find_all(const Windows& windows, const Tensor& result, const Tensor& indices,
              const Tensor& input, const Tensor& samples) {
  if (result.numel() == 0) return;
  const int64_t elements = windows.elements(), count = windows.count();
  const Tensor dense_samples = contiguous_data(samples);
  const auto run = [&](auto zero, const Tensor& out, const Tensor& x, const auto* drawn) {
    using T = decltype(zero);
    const int64_t work = count * windows.kernel[0] * windows.kernel[1] * windows.kernel[2];
    parallel_for(0, x.numel() / elements, std::max<int64_t>(1, kGrain / work),
                 [&](int64_t begin, int64_t end) {
                   std::vector<int64_t> starts(
                       static_cast<size_t>(windows.parts[0] + windows.parts[1] + windows.parts[2]));
                   for (int64_t i = begin; i < end; ++i)
                     windows.find(x.data<T>() + i * elements, drawn + i * windows.samples,
                                  starts.data(), out.data<T>() + i * count,
                                  indices.data<int64_t>() + i * count);
                 });
  };
  with_float_compute(
      "fractional_max_pool", result,
      [&](auto zero, const Tensor& out, const Tensor& x) {
        if (samples.dtype() == DType::float32) {
          run(zero, out, x, dense_samples.data<float>());
        } else {
          run(zero, out, x, dense_samples.data<double>());
        }
      },
      input);
}

}  // namespace

void fractional_found2d(const Tensor& result, const Tensor& indices, const Tensor& input,
                        const Ints<2>& kernel_size, const Ints<2>& size, const Tensor& samples) {
  const IntList sizes = input.sizes();
  const int64_t height = sizes[sizes.size() - 2], width = sizes[sizes.size() - 1];
  // The first number of a plane is for its columns.
  find_all({{1, height, width},
            {1, kernel_size[0], kernel_size[1]},
            {1, size[0], size[1]},
            {-1, 1, 0},
            2},
           result, indices, input, samples);
}

void fractional_found3d(const Tensor& result, const Tensor& indices, const Tensor& input,
                        const Ints<3>& kernel_size, const Ints<3>& size, const Tensor& samples) {
  const IntList sizes = IntList(input.sizes()).last(3);
  find_all({{sizes[0], sizes[1], sizes[2]},
            {kernel_size[0], kernel_size[1], kernel_size[2]},
            {size[0], size[1], size[2]},
            {0, 1, 2},
            3},
           result, indices, input, samples);
}

}  // namespace flambeau::cpu
