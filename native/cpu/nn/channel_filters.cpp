#include "cpu/nn/channel_filters.h"

#include <algorithm>

#include "core/threads/parallel.h"

namespace flambeau::cpu {
namespace {

template <class T>
void run(const ChannelFilter<T>& call) {
  const int64_t taps =
      static_cast<int64_t>(call.columns->meetings.size() * call.rows->meetings.size());
  const int64_t rows = call.batch * call.result_rows;
  const int64_t work = taps / std::max<int64_t>(call.result_rows, 1) * call.channels;
  parallel_for(
      0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
      [&](int64_t begin, int64_t end) { channel_filter_kernels<T>().filter(call, begin, end); });
}

bool slides(const ConvAxis& axis) { return axis.stride == 1 && axis.dilation == 1; }

}  // namespace

template <class T>
void filter_channels(const ConvGeometry& g, const T* images, const T* filters, const T* bias,
                     T* result) {
  const auto& [rows, columns] = g.axes;
  const TapTable down = windows_of(rows), along = windows_of(columns);
  const SlidingTaps taps{slides(columns), false, -columns.padding};
  run<T>({g.batch, g.groups, rows.input, columns.input, rows.output, columns.output, columns.kernel,
          taps, &down, &along, images, filters, bias, result});
}

template <class T>
void filter_channels_grad(const ConvGeometry& g, const T* grads, const T* filters, T* result) {
  const auto& [rows, columns] = g.axes;
  const TapTable down = windows_over(rows), along = windows_over(columns);
  const SlidingTaps taps{slides(columns), true, columns.padding - columns.kernel + 1};
  run<T>({g.batch, g.groups, rows.output, columns.output, rows.input, columns.input, columns.kernel,
          taps, &down, &along, grads, filters, nullptr, result});
}

// Threads have sums of their own.
template <class T>
Tensor channel_filters_grad(const ConvGeometry& g, const T* images, const T* grads) {
  constexpr int64_t kParts = 16;
  const int64_t size = g.kernel_size() * g.groups, rows = g.batch * g.axes[0].output;
  const int64_t parts = std::clamp<int64_t>(rows * g.axes[1].output / 64, 1, kParts);
  const Tensor sums = empty(Shape{parts, size}, dtype_of<T>);
  fill_data(sums, 0);
  T* const data = sums.data<T>();
  const int64_t work = g.batch * g.output_plane() * size / parts;
  parallel_for(0, parts, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   channel_filter_kernels<T>().weights(
                       {&g, g.groups, images, grads, data + i * size}, rows * i / parts,
                       rows * (i + 1) / parts);
               });
  for (int64_t i = 1; i < parts; ++i)
    for (int64_t j = 0; j < size; ++j) data[j] += data[i * size + j];
  return make_view(sums, Shape{g.kernel_size(), g.groups}, Shape{g.groups, 1}, sums.offset());
}

#define FLAMBEAU_CHANNEL_FILTERS(T)                                                        \
  template void filter_channels<T>(const ConvGeometry&, const T*, const T*, const T*, T*); \
  template void filter_channels_grad<T>(const ConvGeometry&, const T*, const T*, T*);      \
  template Tensor channel_filters_grad<T>(const ConvGeometry&, const T*, const T*);
FLAMBEAU_CHANNEL_FILTERS(float)
FLAMBEAU_CHANNEL_FILTERS(double)
#undef FLAMBEAU_CHANNEL_FILTERS

}  // namespace flambeau::cpu
