#include "cpu/nn/taps_kernel.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/linalg/vector.h"

// Points are handled a block at a time, so that their places and weights are read from the first
// cache for every channel. Numbers of taps that modes of interpolation have get loops of their own.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kBlock = 256;  // points whose tables stay near

/// Calls body(constant) with numbers of taps that are worth a loop; 0 stands for others.
template <class Body>
void with_taps(int64_t taps, const Body& body) {
  switch (taps) {
    case 1:
      return body(std::integral_constant<int64_t, 1>());
    case 2:
      return body(std::integral_constant<int64_t, 2>());
    case 4:
      return body(std::integral_constant<int64_t, 4>());
    case 8:
      return body(std::integral_constant<int64_t, 8>());
    case 16:
      return body(std::integral_constant<int64_t, 16>());
    default:
      return body(std::integral_constant<int64_t, 0>());
  }
}

/// Single elements: points are what vectors run over.
template <int64_t fixed, class T>
void sum_elements(const TapGeometry& g, int64_t count, const T* x, const int64_t* places,
                  const T* weights, T* out) {
  const int64_t taps = fixed ? fixed : g.taps, apart = g.points;
#pragma omp simd
  for (int64_t p = 0; p < count; ++p) {
    T sum = 0;
    for (int64_t k = 0; k < taps; ++k) sum += weights[k * apart + p] * x[places[k * apart + p]];
    out[p] = sum;
  }
}

/// Rows of elements, of two or four taps: one loop over the row.
template <int64_t fixed, class T>
void sum_rows(const TapGeometry& g, int64_t count, const T* x, const int64_t* places,
              const T* weights, T* out) {
  const int64_t n = g.inner, apart = g.points;
  const auto row = [&](int64_t p, int64_t k) { return x + places[k * apart + p] * n; };
  for (int64_t p = 0; p < count; ++p, out += n) {
    const T* w = weights + p;
    if constexpr (fixed == 2) {
      const T *a = row(p, 0), *b = row(p, 1);
      const T first = w[0], second = w[apart];
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) out[j] = first * a[j] + second * b[j];
    } else {
      const T *a = row(p, 0), *b = row(p, 1), *c = row(p, 2), *d = row(p, 3);
      const T first = w[0], second = w[apart], third = w[2 * apart], fourth = w[3 * apart];
#pragma omp simd
      for (int64_t j = 0; j < n; ++j)
        out[j] = first * a[j] + second * b[j] + third * c[j] + fourth * d[j];
    }
  }
}

constexpr int64_t kAhead = 8;  // taps whose rows are asked for before they are read

/// One point's sums of some columns, in registers. kAhead places follow those of its taps.
template <int vectors, class T>
void sum_columns(int64_t taps, const T* x, int64_t n, const int64_t* places, const T* weights,
                 T* out) {
  constexpr int kLine = 64 / sizeof(T);
  Vector<T> sum[vectors] = {};
  for (int64_t k = 0; k < taps; ++k) {
    const T *const from = x + places[k] * n, *const next = x + places[k + kAhead] * n;
#pragma GCC unroll 16
    for (int j = 0; j < vectors * kLanes<T>; j += kLine) __builtin_prefetch(next + j);
    const Vector<T> weight = splat(weights[k]);
#pragma GCC unroll 16
    for (int i = 0; i < vectors; ++i)
      sum[i] = multiply_add<T>(weight, load(from + i * kLanes<T>), sum[i]);
  }
  for (int i = 0; i < vectors; ++i) store(out + i * kLanes<T>, sum[i]);
}

/// Sums of many rows of some points, whose tables have been laid in order: some columns of all
/// points first, so that these columns stay near.
template <class T>
class ManyRows {
 public:
  ManyRows(const TapGeometry& g, int64_t points, const T* x, const int64_t* places,
           const T* weights, T* out)
      : n_(g.inner), taps_(g.taps), points_(points), x_(x), out_(out) {
    places_.reserve(static_cast<size_t>(points * taps_ + kAhead));
    weights_.reserve(places_.capacity());
    for (int64_t p = 0; p < points; ++p) {
      for (int64_t k = 0; k < taps_; ++k) {
        places_.push_back(places[k * g.points + p]);
        weights_.push_back(weights[k * g.points + p]);
      }
    }
    places_.resize(places_.capacity());
  }
  void sum() const {
    if (columns<1>(columns<4>(columns<12>(0))) < n_) sum_elementwise();
  }

 private:
  const int64_t* place(int64_t p) const { return places_.data() + p * taps_; }
  const T* weights(int64_t p) const { return weights_.data() + p * taps_; }
  template <int vectors>
  void columns_at(int64_t first) const {
    for (int64_t p = 0; p < points_; ++p)
      sum_columns<vectors>(taps_, x_ + first, n_, place(p), weights(p), out_ + p * n_ + first);
  }
  /// As many as there are from one on; the first of those that are left. Where these are most of
  /// so many, the last ones are summed again with them.
  template <int vectors>
  int64_t columns(int64_t first) const {
    constexpr int64_t kCount = vectors * kLanes<T>;
    for (; first + kCount <= n_; first += kCount) columns_at<vectors>(first);
    if (2 * (n_ - first) <= kCount * (vectors > 1) || n_ < kCount || first == n_) return first;
    columns_at<vectors>(n_ - kCount);
    return n_;
  }
  /// Rows shorter than a vector.
  void sum_elementwise() const {
    std::fill_n(out_, points_ * n_, T(0));
    for (int64_t p = 0; p < points_; ++p) {
      for (int64_t k = 0; k < taps_; ++k) {
        const T* const from = x_ + place(p)[k] * n_;
        const T weight = weights(p)[k];
        for (int64_t j = 0; j < n_; ++j) out_[p * n_ + j] += weight * from[j];
      }
    }
  }

  int64_t n_, taps_, points_;
  const T* x_;
  T* out_;
  std::vector<int64_t> places_;
  std::vector<T> weights_;
};

template <class T>
void sum_many_rows(const TapGeometry& g, int64_t count, const T* x, const int64_t* places,
                   const T* weights, T* out) {
  constexpr int64_t kPoints = 16;
  for (int64_t p = 0; p < count; p += kPoints)
    ManyRows(g, std::min(kPoints, count - p), x, places + p, weights + p, out + p * g.inner).sum();
}

/// Calls body(sample, first point, count) for blocks of points [begin, end) of all samples.
template <class Body>
void over_blocks(const TapGeometry& g, int64_t begin, int64_t end, const Body& body) {
  for (int64_t count; begin < end; begin += count) {
    const int64_t first = begin % g.points;
    count = std::min({kBlock, g.points - first, end - begin});
    body(begin / g.points, first, count);
  }
}

template <class T>
void sums(const TapGeometry& g, int64_t begin, int64_t end, const T* input, const int64_t* places,
          const T* weights, T* result) {
  with_taps(g.taps, [&](auto fixed) {
    constexpr int64_t value = decltype(fixed)::value;
    over_blocks(g, begin, end, [&](int64_t n, int64_t first, int64_t count) {
      const int64_t table = n * g.taps * g.points + first;
      for (int64_t c = 0; c < g.channels; ++c) {
        const int64_t plane = n * g.channels + c;
        const T* x = input + plane * g.length * g.inner;
        T* out = result + (plane * g.points + first) * g.inner;
        if (g.inner == 1)
          sum_elements<value>(g, count, x, places + table, weights + table, out);
        else if constexpr (value == 2 || value == 4)
          sum_rows<value>(g, count, x, places + table, weights + table, out);
        else
          sum_many_rows(g, count, x, places + table, weights + table, out);
      }
    });
  });
}

template <class T>
void spread(const TapGeometry& g, int64_t begin, int64_t end, int64_t first, int64_t last,
            const T* grad, const int64_t* places, const T* weights, T* result) {
  const int64_t n = g.inner;
  for (int64_t plane = begin; plane < end; ++plane) {
    T* out = result + plane * g.length * n;
    for (int64_t i = 0; i < g.length; ++i) std::fill(out + i * n + first, out + i * n + last, T(0));
    const T* from = grad + plane * g.points * n;
    for (int64_t k = 0; k < g.taps; ++k) {
      const int64_t table = (plane / g.channels * g.taps + k) * g.points;
      const int64_t* place = places + table;
      const T* weight = weights + table;
      for (int64_t p = 0; p < g.points; ++p) {
        if (n == 1) {
          out[place[p]] += weight[p] * from[p];
          continue;
        }
        const T w = weight[p];
        const T* row = from + p * n;
        T* to = out + place[p] * n;
#pragma omp simd
        for (int64_t j = first; j < last; ++j) to[j] += w * row[j];
      }
    }
  }
}

template <class T>
void products(const TapGeometry& g, int64_t begin, int64_t end, const T* grad, const T* input,
              const int64_t* places, T* result) {
  over_blocks(g, begin, end, [&](int64_t n, int64_t first, int64_t count) {
    for (int64_t k = 0; k < g.taps; ++k) {
      const int64_t table = (n * g.taps + k) * g.points + first;
      T* out = result + table;
      const int64_t* place = places + table;
      std::fill_n(out, count, T(0));
      for (int64_t c = 0; c < g.channels; ++c) {
        const int64_t plane = n * g.channels + c;
        const T* x = input + plane * g.length * g.inner;
        const T* from = grad + (plane * g.points + first) * g.inner;
        if (g.inner == 1) {
#pragma omp simd
          for (int64_t p = 0; p < count; ++p) out[p] += from[p] * x[place[p]];
          continue;
        }
        for (int64_t p = 0; p < count; ++p) {
          const T *row = from + p * g.inner, *read = x + place[p] * g.inner;
          T sum = 0;
#pragma omp simd reduction(+ : sum)
          for (int64_t j = 0; j < g.inner; ++j) sum += row[j] * read[j];
          out[p] += sum;
        }
      }
    }
  });
}

}  // namespace

template <class T>
const TapKernels<T>& tap_kernels() {
  static constexpr TapKernels<T> kernels{&sums<T>, &spread<T>, &products<T>};
  return kernels;
}
template const TapKernels<float>& tap_kernels();
template const TapKernels<double>& tap_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
