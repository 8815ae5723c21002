#include "cpu/nn/conv_integers.h"

#include "core/threads/parallel.h"

namespace flambeau::cpu {
namespace {

/// Calls body(output place, input place, weight place) for every product of one group of channels.
template <class Body>
void for_products(const ConvGeometry& g, int64_t image, int64_t filter, const Body& body) {
  const auto& [rows, columns] = g.axes;
  const int64_t group = filter / g.out_channels;
  const int64_t out = (image * g.groups * g.out_channels + filter) * g.output_plane();
  for (int64_t c = 0; c < g.in_channels; ++c) {
    const int64_t in = (image * g.groups + group) * g.in_channels + c;
    const int64_t taps = (filter * g.in_channels + c) * g.kernel_size();
    for (int64_t r = 0; r < rows.kernel; ++r)
      for (int64_t s = 0; s < columns.kernel; ++s)
        for (int64_t i = 0; i < rows.output; ++i) {
          const int64_t y = i * rows.stride - rows.padding + r * rows.dilation;
          if (y < 0 || y >= rows.input) continue;
          for (int64_t j = 0; j < columns.output; ++j) {
            const int64_t x = j * columns.stride - columns.padding + s * columns.dilation;
            if (x < 0 || x >= columns.input) continue;
            body(out + i * columns.output + j, in * g.input_plane() + y * columns.input + x,
                 taps + r * columns.kernel + s);
          }
        }
  }
}

/// a + b c, wrapped around.
int64_t plus_product(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b) * static_cast<uint64_t>(c));
}

}  // namespace

void convolve_integers(const ConvGeometry& g, const Tensor& result, const Tensor& input,
                       const Tensor& weight, const Tensor& bias) {
  const int64_t *x = input.data<int64_t>(), *w = weight.data<int64_t>();
  int64_t* out = result.data<int64_t>();
  const int64_t filters = g.groups * g.out_channels;
  parallel_for(0, g.batch * filters, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t first = bias.defined() ? bias.data<int64_t>()[plane % filters] : 0;
      std::fill_n(out + plane * g.output_plane(), g.output_plane(), first);
      for_products(g, plane / filters, plane % filters, [&](int64_t o, int64_t i, int64_t k) {
        out[o] = plus_product(out[o], x[i], w[k]);
      });
    }
  });
}

void spread_integers(const ConvGeometry& g, const Tensor& result, const Tensor& grad,
                     const Tensor& weight) {
  const int64_t *from = grad.data<int64_t>(), *w = weight.data<int64_t>();
  int64_t* out = result.data<int64_t>();
  const int64_t filters = g.groups * g.out_channels;
  parallel_for(0, g.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin * filters; plane < end * filters; ++plane)
      for_products(g, plane / filters, plane % filters, [&](int64_t o, int64_t i, int64_t k) {
        out[i] = plus_product(out[i], from[o], w[k]);
      });
  });
}

}  // namespace flambeau::cpu
