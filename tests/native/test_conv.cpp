// Convolution and its two gradients against plain loops, over strides, paddings, dilations, groups.

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "check.h"
#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"

namespace flambeau::cpu {
void conv2d(const Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias,
            const Ints<2>& stride, const Ints<2>& padding, const Ints<2>& dilation, int64_t groups);
void conv2d_input_grad(const Tensor& result, const Tensor& grad, const Tensor& weight,
                       IntList input_size, const Ints<2>& stride, const Ints<2>& padding,
                       const Ints<2>& dilation, int64_t groups);
void conv2d_weight_grad(const Tensor& result, const Tensor& grad, const Tensor& input,
                        IntList weight_size, const Ints<2>& stride, const Ints<2>& padding,
                        const Ints<2>& dilation, int64_t groups);
}  // namespace flambeau::cpu

using namespace flambeau;

namespace {

struct Case {
  int64_t n, c, h, w, k, r, s, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x, groups;
};

std::mt19937 engine(7);

template <class T>
Tensor random_tensor(Shape sizes) {
  const Tensor result = empty(sizes, dtype_of<T>);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < result.numel(); ++i) result.data<T>()[i] = static_cast<T>(normal(engine));
  return result;
}

template <class T>
bool close(const Tensor& seen, const std::vector<double>& expected) {
  double worst = 0, size = 1;
  const double rounding = std::is_same_v<T, bfloat16> ? 1.0 / 256 : 0;  // of sums in float
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(seen.data<T>()[i]);
    if (!std::isfinite(expected[i])) {
      if (value != expected[i] && !(std::isnan(value) && std::isnan(expected[i]))) return false;
      continue;
    }
    const double error = std::abs(value - expected[i]) - rounding * std::abs(expected[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    size = std::max(size, std::abs(expected[i]));
  }
  return worst <= (sizeof(T) == 8 ? 1e-14 : 2e-6) * 8 * size;
}

/// The result, and the gradients of the images and of the filters.
template <class T>
REFERENCE void loops(const Case& t, int64_t oh, int64_t ow, const T* x, const T* w, const T* b,
                     const T* g, double* y, double* dx, double* dw) {
  const int64_t cg = t.c / t.groups, kg = t.k / t.groups;
  for (int64_t n = 0; n < t.n; ++n)
    for (int64_t k = 0; k < t.k; ++k)
      for (int64_t i = 0; i < oh; ++i)
        for (int64_t j = 0; j < ow; ++j) {
          const int64_t out = ((n * t.k + k) * oh + i) * ow + j;
          double sum = b[k];
          for (int64_t c = 0; c < cg; ++c)
            for (int64_t r = 0; r < t.r; ++r)
              for (int64_t s = 0; s < t.s; ++s) {
                const int64_t yy = i * t.stride_y - t.pad_y + r * t.dilation_y;
                const int64_t xx = j * t.stride_x - t.pad_x + s * t.dilation_x;
                if (yy < 0 || yy >= t.h || xx < 0 || xx >= t.w) continue;
                const int64_t in = ((n * t.c + k / kg * cg + c) * t.h + yy) * t.w + xx;
                const int64_t tap = ((k * cg + c) * t.r + r) * t.s + s;
                const double there = x[in], factor = w[tap], change = g[out];
                sum += there * factor;
                dx[in] += change * factor;
                dw[tap] += change * there;
              }
          y[out] = sum;
        }
}

/// `center`: given to the middle of the images and of the gradient, unless it is 0.
template <class T>
void run(const Case& t, double center = 0) {
  const int64_t oh = (t.h + 2 * t.pad_y - t.dilation_y * (t.r - 1) - 1) / t.stride_y + 1;
  const int64_t ow = (t.w + 2 * t.pad_x - t.dilation_x * (t.s - 1) - 1) / t.stride_x + 1;
  const Tensor x = random_tensor<T>({t.n, t.c, t.h, t.w}),
               w = random_tensor<T>({t.k, t.c / t.groups, t.r, t.s});
  const Tensor b = random_tensor<T>({t.k}), g = random_tensor<T>({t.n, t.k, oh, ow});
  if (center != 0) {
    x.data<T>()[t.h / 2 * t.w + t.w / 2] = static_cast<T>(center);
    g.data<T>()[oh / 2 * ow + ow / 2] = static_cast<T>(center);
  }
  std::vector<double> y(static_cast<size_t>(g.numel())), dx(static_cast<size_t>(x.numel())),
      dw(static_cast<size_t>(w.numel()));
  loops(t, oh, ow, x.data<T>(), w.data<T>(), b.data<T>(), g.data<T>(), y.data(), dx.data(),
        dw.data());
  using Pair = std::array<int64_t, 2>;
  const Ints<2> stride(Pair{t.stride_y, t.stride_x}), padding(Pair{t.pad_y, t.pad_x});
  const Ints<2> dilation(Pair{t.dilation_y, t.dilation_x});
  const Tensor out = empty(g.sizes(), dtype_of<T>), x_grad = empty(x.sizes(), dtype_of<T>);
  const Tensor w_grad = empty(w.sizes(), dtype_of<T>);
  fill_data(out, NAN);
  fill_data(x_grad, NAN);
  fill_data(w_grad, NAN);
  cpu::conv2d(out, x, w, b, stride, padding, dilation, t.groups);
  CHECK(close<T>(out, y));
  cpu::conv2d_input_grad(x_grad, g, w, x.sizes(), stride, padding, dilation, t.groups);
  CHECK(close<T>(x_grad, dx));
  cpu::conv2d_weight_grad(w_grad, g, x, w.sizes(), stride, padding, dilation, t.groups);
  CHECK(close<T>(w_grad, dw));
  if (flambeau::testing::failures)
    std::printf("n%ld c%ld %ldx%ld k%ld %ldx%ld stride %ld,%ld pad %ld,%ld dil %ld,%ld g%ld\n", t.n,
                t.c, t.h, t.w, t.k, t.r, t.s, t.stride_y, t.stride_x, t.pad_y, t.pad_x,
                t.dilation_y, t.dilation_x, t.groups);
}

TEST(forward_and_gradients) {
  const Case cases[] = {
      {2, 3, 8, 9, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {1, 1, 5, 5, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1},
      {3, 16, 7, 7, 40, 1, 1, 1, 1, 0, 0, 1, 1, 1},
      {2, 8, 12, 11, 14, 3, 3, 2, 2, 1, 1, 1, 1, 1},
      {1, 4, 20, 20, 8, 7, 7, 2, 2, 3, 3, 1, 1, 1},
      {2, 6, 10, 13, 9, 3, 2, 1, 3, 2, 0, 2, 1, 3},
      {1, 5, 9, 9, 5, 3, 3, 1, 1, 1, 1, 1, 1, 5},
      {2, 64, 14, 14, 33, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {1, 4, 9, 9, 6, 2, 2, 3, 3, 0, 0, 1, 1, 1},
      {1, 4, 9, 9, 6, 1, 1, 2, 2, 0, 0, 1, 1, 2},
      {1, 2, 6, 6, 3, 3, 3, 1, 1, 4, 4, 1, 1, 1},
      {1, 2, 30, 40, 70, 5, 3, 1, 1, 2, 1, 1, 1, 1},
      {4, 100, 6, 6, 30, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {1, 3, 11, 7, 2, 3, 3, 4, 5, 2, 3, 2, 3, 1},
      {2, 3, 60, 60, 13, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      // Sizes that take the Winograd path: odd, even, without padding, with too much of it, groups.
      {2, 40, 15, 13, 36, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {40, 32, 4, 4, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {5, 17, 7, 5, 30, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {9, 16, 3, 3, 20, 3, 3, 1, 1, 1, 2, 1, 1, 1},
      {7, 32, 9, 10, 66, 3, 3, 1, 1, 0, 0, 1, 1, 2},
      {3, 300, 8, 11, 48, 3, 3, 1, 1, 2, 1, 1, 1, 1},
      {1, 33, 40, 41, 32, 3, 3, 1, 1, 0, 0, 1, 1, 1},
      {1, 64, 13, 12, 68, 3, 3, 1, 1, 2, 3, 1, 1, 2},
      {3, 33, 12, 12, 32, 3, 3, 1, 1, 4, 1, 1, 1, 1},
      // The same with taps that are apart: blocks that are cut in all ways.
      {2, 40, 30, 27, 36, 3, 3, 1, 1, 2, 2, 2, 2, 1},
      {3, 32, 13, 11, 33, 3, 3, 1, 1, 3, 1, 3, 1, 1},
      {1, 64, 41, 14, 64, 3, 3, 1, 1, 0, 4, 4, 3, 2},
      {9, 36, 7, 6, 24, 3, 3, 1, 1, 2, 2, 2, 2, 1},
      // Sizes whose patches are copied: small images together, gaps, depths of several passes and
      // of an odd number of taps, images in several parts.
      {9, 32, 8, 8, 40, 4, 4, 2, 2, 1, 1, 1, 1, 1},
      {21, 20, 4, 3, 33, 5, 5, 1, 1, 2, 2, 1, 1, 1},
      {7, 24, 5, 5, 40, 1, 1, 1, 1, 0, 0, 1, 1, 1},
      {5, 64, 6, 7, 30, 3, 3, 1, 1, 2, 2, 2, 2, 1},
      {4, 9, 6, 7, 17, 3, 3, 2, 2, 1, 0, 1, 1, 1},
      {6, 36, 6, 5, 42, 3, 3, 2, 1, 1, 1, 1, 1, 2},
      {3, 160, 9, 9, 13, 3, 2, 1, 2, 1, 1, 1, 1, 1},
      {1, 10, 40, 41, 24, 5, 5, 1, 1, 2, 2, 1, 1, 1},
      // Vectors of outputs: several panels, small images together, gaps between results.
      {3, 24, 10, 11, 30, 5, 5, 1, 1, 2, 2, 1, 1, 1},
      {2, 40, 19, 18, 31, 3, 3, 2, 2, 1, 1, 1, 1, 1},
      {9, 70, 7, 7, 80, 3, 3, 1, 1, 2, 2, 2, 2, 1},
      {2, 96, 9, 40, 28, 3, 5, 1, 1, 1, 2, 1, 1, 2},
      {2, 5, 21, 40, 6, 3, 3, 2, 2, 1, 1, 1, 1, 1},
      {3, 65, 9, 14, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {5, 19, 7, 8, 16, 5, 5, 1, 1, 2, 2, 1, 1, 1},
      {2, 27, 12, 17, 29, 4, 4, 2, 2, 1, 1, 1, 1, 1},
      {3, 24, 10, 11, 70, 4, 4, 2, 2, 1, 1, 1, 1, 1},
      {2, 64, 6, 30, 24, 2, 5, 1, 2, 0, 2, 1, 1, 2},
      {5, 200, 6, 7, 33, 1, 1, 1, 1, 0, 0, 1, 1, 1},
      // Two tiles of fewer outputs and more positions: in place and not, groups, strides.
      {3, 24, 20, 24, 16, 3, 2, 1, 1, 0, 0, 1, 1, 1},
      {2, 9, 31, 34, 13, 4, 3, 1, 2, 1, 1, 1, 1, 1},
      {2, 14, 17, 40, 30, 5, 5, 1, 1, 2, 2, 1, 1, 2},
      {1, 300, 12, 33, 14, 3, 2, 1, 1, 1, 1, 1, 1, 1},
      // Few blocks of Winograd's under many filters.
      {2, 70, 7, 6, 100, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {1, 300, 5, 4, 66, 3, 3, 1, 1, 1, 1, 1, 1, 1},
      {3, 96, 7, 7, 192, 3, 3, 1, 1, 1, 0, 1, 1, 2},
      // Winograd's filtering of pieces: 5x5 filters, and those twice as wide as their strides, with
      // whole and with cut blocks, with borders of all widths, groups, a single strip at a time.
      {3, 32, 13, 14, 40, 5, 5, 1, 1, 2, 2, 1, 1, 1},
      {1, 16, 41, 40, 18, 5, 5, 1, 1, 0, 4, 1, 1, 1},
      {2, 64, 17, 12, 34, 5, 5, 1, 1, 3, 1, 1, 1, 2},
      {5, 32, 17, 18, 33, 4, 4, 2, 2, 1, 1, 1, 1, 1},
      {2, 64, 40, 23, 96, 4, 4, 2, 2, 3, 0, 1, 1, 2},
      {1, 16, 70, 67, 32, 4, 4, 2, 2, 0, 5, 1, 1, 1},
      {2, 32, 31, 26, 48, 6, 6, 3, 3, 2, 1, 1, 1, 1},
      {3, 48, 16, 13, 35, 2, 2, 1, 1, 0, 1, 1, 1, 1},
      // Filters that cover images.
      {5, 6, 4, 4, 10, 4, 4, 1, 1, 0, 0, 1, 1, 1},
      {5, 6, 4, 3, 10, 4, 3, 2, 3, 0, 0, 1, 1, 2},
      // One channel a group: strides, rows that no window reaches, taps that are apart.
      {3, 5, 12, 19, 5, 7, 7, 1, 1, 3, 3, 1, 1, 5},
      {2, 6, 13, 22, 6, 3, 3, 2, 2, 1, 1, 1, 1, 6},
      {2, 6, 14, 21, 6, 3, 3, 2, 1, 0, 0, 1, 1, 6},
      {2, 4, 15, 18, 4, 3, 3, 1, 2, 2, 2, 2, 2, 4},
      {1, 3, 6, 6, 3, 3, 3, 1, 1, 4, 4, 1, 1, 3},
      {1, 3, 9, 38, 6, 5, 2, 2, 2, 2, 1, 1, 1, 3},
      {2, 40, 30, 30, 24, 1, 1, 1, 1, 0, 0, 1, 1, 1}};
  for (const Case& t : cases) {
    run<float>(t);
    run<double>(t);
    run<bfloat16>(t);
  }
}

TEST(what_is_not_finite_stays_where_it_is_seen) {
  const Case cases[] = {{2, 40, 15, 13, 36, 3, 3, 1, 1, 1, 1, 1, 1, 1},
                        {7, 32, 9, 10, 66, 3, 3, 1, 1, 0, 0, 1, 1, 2},
                        {2, 70, 7, 6, 100, 3, 3, 1, 1, 1, 1, 1, 1, 1},
                        {3, 32, 13, 14, 48, 5, 5, 1, 1, 2, 2, 1, 1, 1},
                        {5, 32, 17, 18, 32, 4, 4, 2, 2, 1, 1, 1, 1, 1},
                        {2, 3, 8, 9, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1},
                        {1, 4, 9, 9, 6, 2, 2, 3, 3, 0, 0, 1, 1, 1}};
  for (const Case& t : cases) {
    for (const double center : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
      run<float>(t, center);
      run<double>(t, center);
    }
  }
}

}  // namespace
