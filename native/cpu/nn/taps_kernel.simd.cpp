#include "cpu/nn/taps_kernel.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "cpu/linalg/vector.h"
#include "cpu/turned_tiles.h"

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
template <int vectors, class T, class Access>
FLAMBEAU_INLINE void sum_columns(int64_t taps, const T* x, int64_t n, const int64_t* places,
                                 const T* weights, Vector<T>* sum, const Access& access) {
  constexpr int kLine = 64 / sizeof(T);
  for (int64_t k = 0; k < taps; ++k) {
    const T *const from = x + places[k] * n, *const next = x + places[k + kAhead] * n;
#pragma GCC unroll 16
    for (int j = 0; j < vectors * kLanes<T>; j += kLine) __builtin_prefetch(next + j);
    const Vector<T> weight = splat(weights[k]);
#pragma GCC unroll 16
    for (int i = 0; i < vectors; ++i)
      sum[i] = multiply_add<T>(weight, access.load(from + i * kLanes<T>), sum[i]);
  }
}

/// Sums of many rows of some points: some columns of all points first, so that these columns stay
/// near.
template <class T>
class ManyRows {
 public:
  static constexpr int64_t kPoints = 16;
  explicit ManyRows(const TapGeometry& g)
      : n_(g.inner),
        taps_(g.taps),
        apart_(g.points),
        places_(static_cast<size_t>(kPoints * g.taps + kAhead)),
        weights_(static_cast<size_t>(kPoints * g.taps)) {}

  void sum(int64_t points, const T* x, const int64_t* places, const T* weights, T* out) {
    points_ = points;
    x_ = x;
    out_ = out;
    detail::turn(places_.data(), taps_, places, apart_, points, taps_);
    detail::turn(weights_.data(), taps_, weights, apart_, points, taps_);
    if (const int64_t left = columns<1>(columns<4>(columns<12>(0))); left < n_)
      columns_at<1>(left, Mask<T>(n_ - left));
  }

 private:
  struct Whole {
    Vector<T> load(const T* from) const { return FLAMBEAU_ISA::load(from); }
    void store(T* to, Vector<T> value) const { FLAMBEAU_ISA::store(to, value); }
  };
  template <int vectors, class Access = Whole>
  void columns_at(int64_t first, const Access& access = {}) const {
    for (int64_t p = 0; p < points_; ++p) {
      Vector<T> sum[vectors] = {};
      sum_columns<vectors>(taps_, x_ + first, n_, places_.data() + p * taps_,
                           weights_.data() + p * taps_, sum, access);
#pragma GCC unroll 16
      for (int i = 0; i < vectors; ++i) access.store(out_ + p * n_ + first + i * kLanes<T>, sum[i]);
    }
  }
  /// As many as there are from one on; the first of those that are left. Where these are most of
  /// so many, the last ones are summed again with them.
  template <int vectors>
  int64_t columns(int64_t first) const {
    constexpr int64_t kCount = vectors * kLanes<T>;
    for (; first + kCount <= n_; first += kCount) columns_at<vectors>(first);
    if (2 * (n_ - first) <= kCount || n_ < kCount) return first;
    columns_at<vectors>(n_ - kCount);
    return n_;
  }

  int64_t n_, taps_, apart_, points_ = 0;
  const T* x_ = nullptr;
  T* out_ = nullptr;
  std::vector<int64_t> places_;  // of each point its taps
  std::vector<T> weights_;
};

template <class T>
void sum_many_rows(const TapGeometry& g, int64_t count, const T* x, const int64_t* places,
                   const T* weights, T* out) {
  constexpr int64_t kPoints = ManyRows<T>::kPoints;
  ManyRows<T> rows(g);
  for (int64_t p = 0; p < count; p += kPoints)
    rows.sum(std::min(kPoints, count - p), x, places + p, weights + p, out + p * g.inner);
}

/// Calls body(sample, first point, count) for blocks of points [begin, end) of all samples.
template <class Body>
void over_blocks(const TapGeometry& g, int64_t begin, int64_t end, int64_t most, const Body& body) {
  for (int64_t count; begin < end; begin += count) {
    const int64_t first = begin % g.points;
    count = std::min({most, g.points - first, end - begin});
    body(begin / g.points, first, count);
  }
}

/// The sums of some points of one plane.
template <int64_t fixed, class T>
void sum_points(const TapGeometry& g, int64_t count, const T* x, const int64_t* places,
                const T* weights, T* out) {
  if (g.inner == 1)
    sum_elements<fixed>(g, count, x, places, weights, out);
  else if constexpr (fixed == 2 || fixed == 4)
    sum_rows<fixed>(g, count, x, places, weights, out);
  else
    sum_many_rows(g, count, x, places, weights, out);
}

template <class T>
void sums(const TapGeometry& g, int64_t begin, int64_t end, const T* input, const int64_t* places,
          const T* weights, T* result) {
  with_taps(g.taps, [&](auto fixed) {
    over_blocks(g, begin, end, kBlock, [&](int64_t n, int64_t first, int64_t count) {
      const int64_t table = n * g.taps * g.points + first;
      for (int64_t c = 0; c < g.channels; ++c) {
        const int64_t plane = n * g.channels + c;
        sum_points<decltype(fixed)::value>(g, count, input + plane * g.length * g.inner,
                                           places + table, weights + table,
                                           result + (plane * g.points + first) * g.inner);
      }
    });
  });
}

template <class T>
void turned_sums(const TapGeometry& g, int64_t begin, int64_t end, const T* input,
                 const int64_t* places, const T* weights, T* result) {
  constexpr int64_t kBytes = 32768, kLine = 64 / sizeof(T);
  const int64_t fitting = kBytes / static_cast<int64_t>(sizeof(T)) / g.inner;
  const int64_t most = std::clamp(fitting / kLine * kLine, kLine, kBlock);
  std::vector<T> block(static_cast<size_t>(std::min(most, end - begin) * g.inner));
  with_taps(g.taps, [&](auto fixed) {
    over_blocks(g, begin, end, most, [&](int64_t n, int64_t first, int64_t count) {
      const int64_t table = n * g.taps * g.points + first;
      sum_points<decltype(fixed)::value>(g, count, input + n * g.length * g.inner, places + table,
                                         weights + table, block.data());
      detail::turn(result + n * g.inner * g.points + first, g.points, block.data(), g.inner,
                   g.inner, count);
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
  over_blocks(g, begin, end, kBlock, [&](int64_t n, int64_t first, int64_t count) {
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
  static constexpr TapKernels<T> kernels{&sums<T>, &turned_sums<T>, &spread<T>, &products<T>};
  return kernels;
}
template const TapKernels<float>& tap_kernels();
template const TapKernels<double>& tap_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
