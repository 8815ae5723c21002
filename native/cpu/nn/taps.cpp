#include "cpu/nn/taps_kernel.h"

#include <algorithm>
#include <numeric>

#include "core/tensor/views.h"
#include "core/threads/parallel.h"
#include "cpu/blocks.h"
#include "cpu/nn/conv_types.h"
#include "kernels/sparse_parts.h"
#include "kernels/taps.h"

namespace flambeau::cpu {

Tensor checked_places(const Tensor& places, int64_t length, const char* op) {
  const Tensor dense = contiguous_data(places);
  const int64_t* values = dense.data<int64_t>();
  parallel_for(0, dense.numel(), kGrain, [&](int64_t begin, int64_t end) {
    uint64_t signs = 0;  // of what is negative where one is outside
    for (int64_t i = begin; i < end; ++i) {
      const auto place = static_cast<uint64_t>(values[i]);
      signs |= place | (static_cast<uint64_t>(length) - 1 - place);
    }
    check(signs >> 63 == 0, ErrorKind::index, op, ": an index is not from 0 to below ", length);
  });
  return dense;
}

namespace {

TapGeometry geometry_of(IntList elements, IntList table, int64_t length) {
  return {elements[0], elements[1], length, table[2], table[1], elements[3]};
}

/// Calls body(first plane, last plane, first inner element, last) on several threads; a plane is a
/// sample's channel. Fewer planes than threads are cut along the inner elements.
template <class Body>
void over_planes(const TapGeometry& g, const Body& body) {
  const int64_t planes = g.samples * g.channels, points = g.points * g.taps + g.length;
  if (planes < num_threads() && g.inner >= 2 * kLeastColumns) {
    const int64_t grain = std::max(kLeastColumns, kGrain / (points * planes + 1));
    return parallel_for(0, g.inner, grain, [&](int64_t first, int64_t last) {
      body(int64_t{0}, planes, first, last);
    });
  }
  parallel_for(0, planes, std::max<int64_t>(1, kGrain / (points * g.inner + 1)),
               [&](int64_t begin, int64_t end) { body(begin, end, int64_t{0}, g.inner); });
}

/// Points of one sample after the other, as threads share what is written before and read after.
template <class Body>
void over_points(const TapGeometry& g, const Body& body) {
  const int64_t work = g.channels * g.taps * g.inner + 1;
  parallel_for(0, g.samples * g.points, std::max<int64_t>(1, kGrain / work), body);
}

constexpr int64_t kManyChannels = 8;  // fill a good part of a vector

/// Whether what is read is more than what would be turned: channels as the innermost dim make
/// rows of single elements, which are read and written one by one where they lie.
bool turns(const TapGeometry& g) {
  return g.inner == 1 && g.channels >= kManyChannels && g.taps * g.points >= g.length;
}

/// [samples, channels, n, 1] as [samples, 1, n, channels], a view.
Tensor with_channels_last(const Tensor& tensor) {
  const Shape &sizes = tensor.sizes(), &strides = tensor.strides();
  return make_view(tensor, Shape{sizes[0], 1, sizes[2], sizes[1]},
                   Shape{strides[0], strides[1], strides[2], strides[1]}, tensor.offset());
}
TapGeometry with_channels_last(const TapGeometry& g) {
  return {g.samples, 1, g.length, g.points, g.taps, g.channels};
}

/// Whether rows are met so often that each is better summed up at once.
bool is_product(const TapGeometry& g) {
  constexpr int64_t kOften = 8;
  return g.samples * g.channels == 1 && g.inner >= kLeastColumns &&
         g.taps * g.points >= kOften * (g.length + g.points);
}

/// Entries (place, point) of the sparse matrix that taps of one sample make.
Tensor entries_of(const TapGeometry& g, const Tensor& places) {
  const int64_t count = g.taps * g.points;
  const Tensor entries = empty(Shape{2, count}, DType::int64);
  int64_t* const rows = entries.data<int64_t>();
  std::copy_n(places.data<int64_t>(), count, rows);
  for (int64_t k = 0; k < g.taps; ++k)
    std::iota(rows + count + k * g.points, rows + count + (k + 1) * g.points, int64_t{0});
  return entries;
}

}  // namespace

void tapped(const Tensor& result, const Tensor& input, const Tensor& places,
            const Tensor& weights) {
  if (result.numel() == 0) return;
  const TapGeometry g = geometry_of(input.sizes(), places.sizes(), input.sizes()[2]);
  const Tensor checked = checked_places(places, g.length, "tapped");
  const bool turned = turns(g);
  with_float_compute(
      "tapped", result,
      [&](auto zero, const Tensor& out, const Tensor& x, const Tensor& w) {
        using T = decltype(zero);
        const auto& kernels = tap_kernels<T>();
        const TapGeometry shape = turned ? with_channels_last(g) : g;
        over_points(shape, [&](int64_t begin, int64_t end) {
          (turned ? kernels.turned_sums : kernels.sums)(
              shape, begin, end, x.data<T>(), checked.data<int64_t>(), w.data<T>(), out.data<T>());
        });
      },
      turned ? with_channels_last(input) : input, weights);
}

void tapped_grad(const Tensor& result, const Tensor& grad_output, const Tensor& places,
                 const Tensor& weights, int64_t) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  const TapGeometry g = geometry_of(grad_output.sizes(), places.sizes(), result.sizes()[2]);
  const Tensor checked = checked_places(places, g.length, "tapped_grad");
  const bool turned = turns(g) && g.samples >= num_threads();
  with_float_compute(
      "tapped_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& w) {
        using T = decltype(zero);
        const auto run = [&](const TapGeometry& shape, const Tensor& to, const Tensor& from) {
          over_planes(shape, [&](int64_t begin, int64_t end, int64_t first, int64_t last) {
            tap_kernels<T>().spread(shape, begin, end, first, last, from.data<T>(),
                                    checked.data<int64_t>(), w.data<T>(), to.data<T>());
          });
        };
        if (is_product(g)) {
          const auto matrix = [&](const Tensor& rows, int64_t count) {
            return make_view(rows, Shape{count, g.inner}, Shape{g.inner, 1}, rows.offset());
          };
          const Tensor factors = make_view(w, Shape{g.taps * g.points}, Shape{1}, w.offset());
          return FLAMBEAU_PICK(sparse_product)(matrix(out, g.length), entries_of(g, checked),
                                               factors, g.length, matrix(grad, g.points));
        }
        if (!turned) return run(g, out, grad);
        const Tensor lying = with_channels_last(out), sums = empty(lying.sizes(), out.dtype());
        run(with_channels_last(g), sums, grad);
        copy_data(lying, sums);
      },
      turned ? with_channels_last(grad_output) : grad_output, weights);
}

void tapped_weights_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                         const Tensor& places) {
  if (result.numel() == 0) return;
  const TapGeometry g = geometry_of(input.sizes(), places.sizes(), input.sizes()[2]);
  const Tensor checked = checked_places(places, g.length, "tapped_weights_grad");
  const bool turned = turns(g);
  with_float_compute(
      "tapped_weights_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& x) {
        using T = decltype(zero);
        const TapGeometry shape = turned ? with_channels_last(g) : g;
        over_points(shape, [&](int64_t begin, int64_t end) {
          tap_kernels<T>().products(shape, begin, end, grad.data<T>(), x.data<T>(),
                                    checked.data<int64_t>(), out.data<T>());
        });
      },
      turned ? with_channels_last(grad_output) : grad_output,
      turned ? with_channels_last(input) : input);
}

}  // namespace flambeau::cpu
