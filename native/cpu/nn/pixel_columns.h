#pragma once

/// Normalization of images whose channels lie next to each other: sums and moments of the channels
/// of each sample, in passes over pixels that several threads share, and what becomes of a pixel.
/// Include only from *.simd.cpp files.

#include <vector>

#include "cpu/nn/normal_rows.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// [samples, pixels, channels], dense.
struct Pixels {
  int64_t samples, pixels, channels;
  int64_t count() const { return samples * pixels; }
  size_t columns() const { return static_cast<size_t>(samples * channels); }
};

constexpr int64_t kFewPixels = 8;           // that are added up in registers
constexpr int64_t kNearPixels = 64;         // which stay in L1 or L2, and are added up plainly
constexpr int64_t kPartElements = 1 << 15;  // of a thread's turn

/// Adds terms of pixels [0, count) to sums[t * channels + c]: vectors(p, c, to) adds those of a
/// vector of channels to to[0, terms), element(p, c, to) those of one channel.
template <int terms, class C, class Vectors, class Element>
void add_pixels(int64_t count, int64_t channels, C* sums, const Vectors& vectors,
                const Element& element) {
  constexpr int64_t lanes = kLanes<C>;
  constexpr int wide = 4;
  const auto add_vectors = [&]<int width>(std::integral_constant<int, width>, int64_t first,
                                          int64_t last, int64_t c) {
    Vector<C> to[width][terms];
#pragma GCC unroll 4
    for (int k = 0; k < width; ++k)
      for (int t = 0; t < terms; ++t) to[k][t] = load(sums + t * channels + c + k * lanes);
    for (int64_t p = first; p < last; ++p) {
#pragma GCC unroll 4
      for (int k = 0; k < width; ++k) vectors(p, c + k * lanes, to[k]);
    }
#pragma GCC unroll 4
    for (int k = 0; k < width; ++k)
      for (int t = 0; t < terms; ++t) store(sums + t * channels + c + k * lanes, to[k][t]);
  };
  for (int64_t first = 0; first < count; first += kFewPixels) {
    const int64_t last = std::min(first + kFewPixels, count);
    int64_t c = 0;
    for (; c + wide * lanes <= channels; c += wide * lanes)
      add_vectors(std::integral_constant<int, wide>(), first, last, c);
    for (; c + lanes <= channels; c += lanes)
      add_vectors(std::integral_constant<int, 1>(), first, last, c);
    for (; c < channels; ++c) {
      C to[terms];
      for (int t = 0; t < terms; ++t) to[t] = sums[t * channels + c];
      for (int64_t p = first; p < last; ++p) element(p, c, to);
      for (int t = 0; t < terms; ++t) sums[t * channels + c] = to[t];
    }
  }
}

/// Two numbers for each channel of each sample.
template <class C>
struct ColumnPairs {
  explicit ColumnPairs(const Pixels& shape) : first(shape.columns()), second(shape.columns()) {}
  std::vector<C> first, second;
};

/// Calls part(first pixel, count, numbers) for parts of samples, on several threads, and then
/// merge(pixels before, count, to, numbers) for the parts of a sample in turn: numbers, two of each
/// channel, start as zeros. How samples are cut does not depend on the number of threads.
template <class C, class Part, class Merge>
ColumnPairs<C> in_parts(const Pixels& shape, const Part& part, const Merge& merge) {
  ColumnPairs<C> result(shape);
  const int64_t channels = shape.channels, width = 2 * channels;
  if (shape.count() * channels == 0) return result;
  const int64_t runs = std::max<int64_t>(kPartElements / (kNearPixels * channels), 1);
  const int64_t step = runs * kNearPixels, parts = (shape.pixels + step - 1) / step;
  std::vector<C> found(static_cast<size_t>(shape.samples * parts * width));
  const auto count = [&](int64_t i) { return std::min(step, shape.pixels - i * step); };
  for_rows(shape.samples * parts, step * channels, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      part(i / parts * shape.pixels + i % parts * step, count(i % parts), found.data() + i * width);
  });
  for_rows(shape.samples, parts * width, 2, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      C* const to = found.data() + n * parts * width;
      for (int64_t i = 1; i < parts; ++i) merge(i * step, count(i), to, to + i * width);
      std::copy_n(to, channels, result.first.data() + n * channels);
      std::copy_n(to + channels, channels, result.second.data() + n * channels);
    }
  });
  return result;
}

/// Joins the means and the sums of squared distances from them of `count` further pixels to those
/// of `before` (T. Chan, G. Golub and R. LeVeque, Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances, 1979).
template <class C>
void join_moments(int64_t before, int64_t count, int64_t channels, C* to, const C* from) {
  const C share = static_cast<C>(count) / static_cast<C>(before + count);
  const C weight = share * static_cast<C>(before);
#pragma omp simd
  for (int64_t c = 0; c < channels; ++c) {
    const C distance = from[c] - to[c];
    to[c] += share * distance;
    to[channels + c] += from[channels + c] + weight * distance * distance;
  }
}

/// The means of each sample's channels, and the sums of the squares of the distances from them.
template <class T, class C = Compute<T>>
ColumnPairs<C> moments_of(const Pixels& shape, const T* data) {
  const int64_t channels = shape.channels;
  const auto near_moments = [=](const T* x, int64_t count, C* mean, C* squares) {
    std::fill_n(mean, channels, C(0));
    std::fill_n(squares, channels, C(0));
    add_pixels<1>(
        count, channels, mean,
        [=](int64_t p, int64_t c, Vector<C>* to) { to[0] += load_wide(x + p * channels + c); },
        [=](int64_t p, int64_t c, C* to) { to[0] += static_cast<C>(x[p * channels + c]); });
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) mean[c] /= static_cast<C>(count);
    add_pixels<1>(
        count, channels, squares,
        [=](int64_t p, int64_t c, Vector<C>* to) {
          const Vector<C> apart = load_wide(x + p * channels + c) - load(mean + c);
          to[0] += apart * apart;
        },
        [=](int64_t p, int64_t c, C* to) {
          const C apart = static_cast<C>(x[p * channels + c]) - mean[c];
          to[0] += apart * apart;
        });
  };
  return in_parts<C>(
      shape,
      [&](int64_t first, int64_t count, C* numbers) {
        std::vector<C> next(static_cast<size_t>(2 * channels));
        for (int64_t p = 0; p < count; p += kNearPixels) {
          C* const to = p == 0 ? numbers : next.data();
          const int64_t near = std::min(kNearPixels, count - p);
          near_moments(data + (first + p) * channels, near, to, to + channels);
          if (p > 0) join_moments(p, near, channels, numbers, to);
        }
      },
      [=](int64_t before, int64_t count, C* to, const C* from) {
        join_moments(before, count, channels, to, from);
      });
}

/// sum(grad) and sum(grad (x - mean)) of each sample's channels; `means`: a mean for each of them,
/// or, where `shared`, for those of the first sample only.
template <class T, class C = Compute<T>>
ColumnPairs<C> grad_sums_of(const Pixels& shape, const T* data, const T* grads,
                            const std::vector<C>& means, bool shared) {
  const int64_t channels = shape.channels;
  const auto add = [=](C* to, const C* from) {
#pragma omp simd
    for (int64_t c = 0; c < 2 * channels; ++c) to[c] += from[c];
  };
  return in_parts<C>(
      shape,
      [&](int64_t first, int64_t count, C* numbers) {
        const C* const mean =
            means.data() + (shared ? 0 : first / std::max<int64_t>(shape.pixels, 1) * channels);
        std::vector<C> next(static_cast<size_t>(2 * channels));
        for (int64_t p = 0; p < count; p += kNearPixels) {
          const T* const x = data + (first + p) * channels;
          const T* const g = grads + (first + p) * channels;
          std::fill(next.begin(), next.end(), C(0));
          add_pixels<2>(
              std::min(kNearPixels, count - p), channels, next.data(),
              [=](int64_t i, int64_t c, Vector<C>* to) {
                const Vector<C> grad = load_wide(g + i * channels + c);
                to[0] += grad;
                to[1] += grad * (load_wide(x + i * channels + c) - load(mean + c));
              },
              [=](int64_t i, int64_t c, C* to) {
                const C grad = static_cast<C>(g[i * channels + c]);
                to[0] += grad;
                to[1] += grad * (static_cast<C>(x[i * channels + c]) - mean[c]);
              });
          add(numbers, next.data());
        }
      },
      [=](int64_t, int64_t, C* to, const C* from) { add(to, from); });
}

/// Calls body(first pixel, last, offset of their sample's numbers) on several threads.
template <class Body>
void for_pixels(const Pixels& shape, bool shared, int64_t cost, const Body& body) {
  for_rows(shape.count(), shape.channels, cost, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t sample = begin / shape.pixels;
      const int64_t last = shared ? end : std::min(end, (sample + 1) * shape.pixels);
      body(begin, last, shared ? 0 : sample * shape.channels);
      begin = last;
    }
  });
}

/// y = (x - mean) factor + shift, by numbers of each sample's channels, or, where `shared`, of all
/// samples' alike; the shift of a channel is always that.
template <class T, class C = Compute<T>>
void scale_pixels(const Pixels& shape, T* result, const T* data, bool shared,
                  const std::vector<C>& means, const std::vector<C>& factors,
                  const std::vector<C>& shifts) {
  const int64_t channels = shape.channels;
  for_pixels(shape, shared, 3, [&](int64_t begin, int64_t end, int64_t place) {
    const C *mean = means.data() + place, *factor = factors.data() + place, *shift = shifts.data();
    for (int64_t p = begin; p < end; ++p) {
      const T* const x = data + p * channels;
      T* const y = result + p * channels;
      for_vectors<C>(
          channels,
          [=](int64_t c) {
            store_wide(y + c,
                       (load_wide(x + c) - load(mean + c)) * load(factor + c) + load(shift + c));
          },
          [=](int64_t c) { y[c] = T((static_cast<C>(x[c]) - mean[c]) * factor[c] + shift[c]); });
    }
  });
}

/// What the gradient of a channel's input is made of: factor grad - shift - (x - mean) slope.
template <class C>
struct GradColumns {
  explicit GradColumns(size_t columns)
      : mean(columns), factor(columns), shift(columns), slope(columns) {}
  std::vector<C> mean, factor, shift, slope;
};

template <class T, class C = Compute<T>>
void grade_pixels(const Pixels& shape, T* result, const T* data, const T* grads, bool shared,
                  const GradColumns<C>& by) {
  const int64_t channels = shape.channels;
  for_pixels(shape, shared, 4, [&](int64_t begin, int64_t end, int64_t place) {
    const C *mean = by.mean.data() + place, *factor = by.factor.data() + place;
    const C *shift = by.shift.data() + place, *slope = by.slope.data() + place;
    for (int64_t p = begin; p < end; ++p) {
      const T *const x = data + p * channels, *const g = grads + p * channels;
      T* const y = result + p * channels;
      for_vectors<C>(
          channels,
          [=](int64_t c) {
            store_wide(y + c, load(factor + c) * load_wide(g + c) - load(shift + c) -
                                  (load_wide(x + c) - load(mean + c)) * load(slope + c));
          },
          [=](int64_t c) {
            y[c] = T(factor[c] * static_cast<C>(g[c]) - shift[c] -
                     (static_cast<C>(x[c]) - mean[c]) * slope[c]);
          });
    }
  });
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
