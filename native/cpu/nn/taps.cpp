#include "cpu/nn/taps_kernel.h"

#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/blocks.h"
#include "cpu/nn/conv_types.h"
#include "kernels/taps.h"

namespace flambeau::cpu {
namespace {

/// Places as dense integers, each of which is checked once: the loops rely on them.
Tensor checked_places(const Tensor& places, int64_t length, const char* op) {
  const Tensor dense = contiguous_data(places);
  const int64_t* values = dense.data<int64_t>();
  bool inside = true;
  for (int64_t i = 0; i < dense.numel(); ++i) inside &= values[i] >= 0 && values[i] < length;
  check(inside, ErrorKind::index, op, ": an index is not from 0 to below ", length);
  return dense;
}

TapGeometry geometry_of(IntList elements, IntList table, int64_t length) {
  return {elements[0], elements[1], length, table[2], table[1], elements[3]};
}

/// Calls body(first plane, last plane) on several threads; a plane is a sample's channel.
template <class Body>
void over_planes(const TapGeometry& g, const Body& body) {
  const int64_t work = (g.points * g.taps + g.length) * g.inner + 1;
  parallel_for(0, g.samples * g.channels, std::max<int64_t>(1, kGrain / work), body);
}

/// Few planes with many points are cut along the points instead.
template <class Body>
void over_points(const TapGeometry& g, const Body& body) {
  const int64_t work = g.samples * g.channels * g.taps * g.inner + 1;
  parallel_for(0, g.points, std::max<int64_t>(1, kGrain / work), body);
}

}  // namespace

void tapped(const Tensor& result, const Tensor& input, const Tensor& places,
            const Tensor& weights) {
  if (result.numel() == 0) return;
  const TapGeometry g = geometry_of(input.sizes(), places.sizes(), input.sizes()[2]);
  const Tensor checked = checked_places(places, g.length, "tapped");
  with_float_compute(
      "tapped", result,
      [&](auto zero, const Tensor& out, const Tensor& x, const Tensor& w) {
        using T = decltype(zero);
        over_points(g, [&](int64_t begin, int64_t end) {
          tap_kernels<T>().sums(g, begin, end, x.data<T>(), checked.data<int64_t>(), w.data<T>(),
                                out.data<T>());
        });
      },
      input, weights);
}

void tapped_grad(const Tensor& result, const Tensor& grad_output, const Tensor& places,
                 const Tensor& weights, int64_t) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  const TapGeometry g = geometry_of(grad_output.sizes(), places.sizes(), result.sizes()[2]);
  const Tensor checked = checked_places(places, g.length, "tapped_grad");
  with_float_compute(
      "tapped_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& w) {
        using T = decltype(zero);
        over_planes(g, [&](int64_t begin, int64_t end) {
          tap_kernels<T>().spread(g, begin, end, grad.data<T>(), checked.data<int64_t>(),
                                  w.data<T>(), out.data<T>());
        });
      },
      grad_output, weights);
}

void tapped_weights_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                         const Tensor& places) {
  if (result.numel() == 0) return;
  const TapGeometry g = geometry_of(input.sizes(), places.sizes(), input.sizes()[2]);
  const Tensor checked = checked_places(places, g.length, "tapped_weights_grad");
  with_float_compute(
      "tapped_weights_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& x) {
        using T = decltype(zero);
        over_points(g, [&](int64_t begin, int64_t end) {
          tap_kernels<T>().products(g, begin, end, grad.data<T>(), x.data<T>(),
                                    checked.data<int64_t>(), out.data<T>());
        });
      },
      grad_output, input);
}

}  // namespace flambeau::cpu
