#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/threads/parallel.h"
#include "cpu/linalg/vector.h"
#include "cpu/math.h"
#include "cpu/nn/conv_types.h"
#include "cpu/short_sums.h"
#include "kernels/distance.h"

#include "core/math/signs.h"

/// Norms of differences of points, without the differences: they would fill memory.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// to[r] = whole(sum of term(|a - b|) over the coordinates) for points b, one behind the other: of
/// some at once, so that sums need not wait for each other.
template <class T, class Term, class Whole>
void sums(T* to, const T* a, const T* b, int64_t points, int64_t count, const Term& term,
          const Whole& whole) {
  for (; points >= 4; points -= 4, to += 4, b += 4 * count) {
    T first = 0, second = 0, third = 0, fourth = 0;
#pragma omp simd reduction(+ : first, second, third, fourth)
    for (int64_t i = 0; i < count; ++i) {
      first += term(std::abs(a[i] - b[i]));
      second += term(std::abs(a[i] - b[i + count]));
      third += term(std::abs(a[i] - b[i + 2 * count]));
      fourth += term(std::abs(a[i] - b[i + 3 * count]));
    }
    to[0] = whole(first);
    to[1] = whole(second);
    to[2] = whole(third);
    to[3] = whole(fourth);
  }
  for (; points > 0; --points, ++to, b += count) {
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i) sum += term(std::abs(a[i] - b[i]));
    *to = whole(sum);
  }
}

/// to[r] = sum of terms of the coordinates of a - b for points b, one behind the other, of as many
/// at once as a vector has lanes. add(sum, d) adds the terms of a vector, none where d is 0.
template <class T, class Add>
void vector_sums(T* to, const T* a, const T* b, int64_t points, int64_t count, const Add& add) {
  constexpr int lanes = kLanes<T>;
  const int64_t rest = count % lanes, whole = count - rest;
  const Mask<T> last(rest);
  for (int64_t p = 0; p < points; p += lanes) {
    const T* point[lanes];
    Vector<T> sum[lanes] = {};
    for (int k = 0; k < lanes; ++k) point[k] = b + std::min(p + k, points - 1) * count;
    for (int64_t i = 0; i < whole; i += lanes) {
      const Vector<T> x = load(a + i);
#pragma GCC unroll 16
      for (int k = 0; k < lanes; ++k) sum[k] = add(sum[k], x - load(point[k] + i));
    }
    if (rest > 0) {
      const Vector<T> x = last.load(a + whole);
#pragma GCC unroll 16
      for (int k = 0; k < lanes; ++k) sum[k] = add(sum[k], x - last.load(point[k] + whole));
    }
    const Vector<T> total = across_lanes<T>(sum, [](Vector<T> u, Vector<T> v) { return u + v; });
    Mask<T>(std::min<int64_t>(lanes, points - p)).store(to + p, total);
  }
}

/// Points turned so that one coordinate of all lies together, for sums of several points at once:
/// of few coordinates, which are added up one after the other.
template <class T>
class TurnedPoints {
 public:
  static constexpr int64_t kTogether = 64;
  TurnedPoints(const T* points, int64_t number, int64_t count)
      : pitch_(number + kTogether), count_(count), values_(static_cast<size_t>(pitch_ * count)) {
    for (int64_t p = 0; p < number; ++p)
      for (int64_t i = 0; i < count; ++i)
        values_[static_cast<size_t>(i * pitch_ + p)] = points[p * count + i];
  }
  /// to[p - first] = whole(sum of term(|a - point p|)) for p from `first` to the last.
  template <class Term, class Whole>
  void sums(T* to, const T* a, int64_t first, const Term& term, const Whole& whole) const {
    for (; first < pitch_ - kTogether; first += kTogether, to += kTogether) {
      alignas(64) T sum[kTogether] = {};
      for (int64_t i = 0; i < count_; ++i) {
        const T x = a[i];
        const T* const row = values_.data() + i * pitch_ + first;
#pragma omp simd
        for (int64_t p = 0; p < kTogether; ++p) sum[p] += term(std::abs(x - row[p]));
      }
      const int64_t points = std::min(kTogether, pitch_ - kTogether - first);
#pragma omp simd
      for (int64_t p = 0; p < points; ++p) to[p] = whole(sum[p]);
    }
  }

 private:
  int64_t pitch_, count_;
  std::vector<T> values_;
};

/// The largest |a - b|; NaN where there is one.
template <class T>
T largest(const T* a, const T* b, int64_t count) {
  T found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T distance = std::abs(a[i] - b[i]);
    found = (distance > found) | (distance != distance) ? distance : found;
    if (found != found) return found;
  }
  return found;
}

/// Distances of some points from `number` others, one behind the other.
template <class T>
class Distances {
 public:
  Distances(int64_t some, const T* points, int64_t number, int64_t count, double p)
      : points_(points), number_(number), count_(count), p_(p) {
    constexpr int64_t kWorthTurning = 8;
    const int64_t many = has_vectors() ? 256 : 32, most = has_vectors() ? 24 : 64;
    if (p < std::numeric_limits<double>::infinity() && some >= kWorthTurning && number >= many &&
        count <= most)
      turned_.emplace(points, number, count);
  }

  /// Of `a` from the points from `first` on.
  void norms(T* to, const T* a, int64_t first) const {
    const auto same = [](T x) { return x; };
    const auto sums = [&](const auto& term, const auto& whole) {
      if (turned_) return turned_->sums(to, a, first, term, whole);
      cpu::FLAMBEAU_ISA::sums(to, a, points_ + first * count_, number_ - first, count_, term,
                              whole);
    };
    if (!turned_ && has_vectors()) return norms_in_vectors(to, a, first);
    if (p_ == 2) return sums([](T d) { return d * d; }, [](T x) { return std::sqrt(x); });
    if (p_ == 1) return sums(same, same);
    if (p_ == 0) return sums([](T d) { return d != 0 ? T(1) : T(0); }, same);
    if (p_ == std::numeric_limits<double>::infinity()) {
      for (; first < number_; ++first) *to++ = largest(a, points_ + first * count_, count_);
      return;
    }
    const T power = static_cast<T>(p_);
    sums([power](T d) { return std::pow(d, power); },
         [power](T x) { return std::pow(x, 1 / power); });
  }

 private:
  bool has_vectors() const { return p_ == 1 || p_ == 2; }
  void norms_in_vectors(T* to, const T* a, int64_t first) const {
    using V = Vector<T>;
    const int64_t points = number_ - first;
    const T* const b = points_ + first * count_;
    if (p_ == 1)
      return vector_sums(to, a, b, points, count_,
                         [](V sum, V d) { return sum + (d < 0 ? -d : d); });
    vector_sums(to, a, b, points, count_, [](V sum, V d) { return multiply_add<T>(d, d, sum); });
#pragma omp simd
    for (int64_t p = 0; p < points; ++p) to[p] = std::sqrt(to[p]);
  }

  const T* points_;
  int64_t number_, count_;
  double p_;
  std::optional<TurnedPoints<T>> turned_;
};

/// So many rows of differences are worth a task.
int64_t rows_at_once(int64_t others, int64_t coordinates) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, others * coordinates));
}

/// The slope of p = 2.
struct Straight {
  template <class T>
  T operator()(T x, T length) const {
    return x / length;
  }
};

/// Calls body(slope): slope(x, length) is that of the norm of a vector by its coordinate x, where
/// the length is not 0.
template <class T, class Body>
void with_slope(double p, const Body& body) {
  if (p == 0) return body([](T, T) { return T(0); });
  if (p == 1) return body([](T x, T) { return math::sign(x); });
  if (p == 2) return body(Straight());
  if (p == std::numeric_limits<double>::infinity())
    return body([](T x, T length) { return std::abs(x) == length ? math::sign(x) : T(0); });
  body([power = static_cast<T>(p - 1)](T x, T length) {
    return x == 0 ? T(0) : math::sign(x) * std::pow(std::abs(x) / length, power);
  });
}

/// The distances of all pairs of `rows` points of `count` coordinates, and what weighs them.
template <class T>
struct Pairs {
  const T *points, *lengths, *weights;
  int64_t rows, count;
};

/// to += weight * slope, of the pair at `place`, point i being the first of it.
template <class T, class Slope>
void add_slopes(T* __restrict to, const Pairs<T>& pairs, int64_t i, int64_t j, int64_t place,
                const Slope& slope) {
  const T length = pairs.lengths[place], weight = pairs.weights[place];
  if (length == 0) return;
  const T* __restrict const a = pairs.points + i * pairs.count;
  const T* __restrict const b = pairs.points + j * pairs.count;
  const int64_t count = pairs.count;
#pragma omp simd
  for (int64_t k = 0; k < count; ++k) to[k] += weight * slope(a[k] - b[k], length);
}

/// sums[k] += factor (a[k] - b[k]) for some vectors of coordinates of many points b, which lie
/// `count` apart: sums stay in registers.
template <int vectors, class T>
FLAMBEAU_INLINE void add_differences(T* sums, const T* a, const T* b, const T* factors,
                                     int64_t points, int64_t count) {
  constexpr int lanes = kLanes<T>;
  Vector<T> sum[vectors], at[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    sum[v] = load(sums + v * lanes);
    at[v] = load(a + v * lanes);
  }
  for (int64_t p = 0; p < points; ++p, b += count) {
    const Vector<T> factor = splat(factors[p]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sum[v] += factor * (at[v] - load(b + v * lanes));
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) store(sums + v * lanes, sum[v]);
}

/// The same of all coordinates.
template <class T>
void add_differences(T* sums, const T* a, const T* b, const T* factors, int64_t points,
                     int64_t count) {
  constexpr int64_t lanes = kLanes<T>;
  int64_t k = 0;
  for (; k + 4 * lanes <= count; k += 4 * lanes)
    add_differences<4>(sums + k, a + k, b + k, factors, points, count);
  for (; k + lanes <= count; k += lanes)
    add_differences<1>(sums + k, a + k, b + k, factors, points, count);
  for (int64_t p = 0; p < points; ++p)
    for (int64_t rest = k; rest < count; ++rest)
      sums[rest] += factors[p] * (a[rest] - b[p * count + rest]);
}

/// Where the pair of points i and j stands.
template <class T>
int64_t place_of(const Pairs<T>& pairs, int64_t i, int64_t j) {
  const int64_t first = std::min(i, j);
  return first * (2 * pairs.rows - first - 1) / 2 + std::max(i, j) - first - 1;
}

/// What pairs of point i with points [begin, end) say of it, i not among these.
template <class T, class Slope>
void add_points(T* sums, const Pairs<T>& pairs, int64_t i, int64_t begin, int64_t end,
                const Slope& slope) {
  if constexpr (!std::is_same_v<Slope, Straight>) {
    for (int64_t j = begin; j < end; ++j)
      add_slopes(sums, pairs, i, j, place_of(pairs, i, j), slope);
  } else {
    constexpr int64_t kMost = 64;
    T factors[kMost];
    for (; begin < end; begin += kMost) {
      const int64_t points = std::min(kMost, end - begin);
      for (int64_t p = 0; p < points; ++p) {
        const int64_t place = place_of(pairs, i, begin + p);
        const T length = pairs.lengths[place], factor = pairs.weights[place] / length;
        const bool is_too_large = std::isinf(factor) && length != 0;
        factors[p] = length == 0 || is_too_large ? T(0) : factor;
        if (is_too_large) add_slopes(sums, pairs, i, begin + p, place, slope);
      }
      add_differences(sums, pairs.points + i * pairs.count, pairs.points + begin * pairs.count,
                      factors, points, pairs.count);
    }
  }
}

/// What all pairs of point i say of it.
template <class T, class Slope>
void point_grad(T* to, const Pairs<T>& pairs, int64_t i, T* part, const Slope& slope) {
  sum_in_parts(to, pairs.rows, pairs.count, part, [&](T* sums, int64_t begin, int64_t end) {
    add_points(sums, pairs, i, begin, std::clamp(i, begin, end), slope);
    add_points(sums, pairs, i, std::clamp(i + 1, begin, end), end, slope);
  });
}

}  // namespace

void pair_norms(const Tensor& result, const Tensor& x1, const Tensor& x2, double p) {
  if (result.numel() == 0) return;
  const IntList of_result = result.sizes(), of_points = x1.sizes();
  const int64_t rows = of_result[of_result.size() - 2], others = of_result.back(),
                count = of_points.back();
  with_float_compute(
      "cdist", result,
      [&](auto zero, const Tensor& out, const Tensor& left, const Tensor& right) {
        using T = decltype(zero);
        parallel_for(
            0, out.numel() / others, rows_at_once(others, count), [&](int64_t begin, int64_t end) {
              while (begin < end) {
                const int64_t batch = begin / rows, last = std::min(end, (batch + 1) * rows);
                const T* const b = right.data<T>() + batch * others * count;
                const Distances<T> distances(last - begin, b, others, count, p);
                for (; begin < last; ++begin)
                  distances.norms(out.data<T>() + begin * others, left.data<T>() + begin * count,
                                  0);
              }
            });
      },
      x1, x2);
}

void pdist(const Tensor& result, const Tensor& input, double p) {
  if (result.numel() == 0) return;
  const int64_t rows = input.sizes()[0], count = input.sizes()[1];
  with_float_compute(
      "pdist", result,
      [&](auto zero, const Tensor& out, const Tensor& points) {
        using T = decltype(zero);
        const Distances<T> distances(rows, points.data<T>(), rows, count, p);
        parallel_for(0, rows - 1, rows_at_once(rows / 2, count), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            distances.norms(out.data<T>() + i * (2 * rows - i - 1) / 2,
                            points.data<T>() + i * count, i + 1);
        });
      },
      input);
}

void pdist_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                const Tensor& distances, double p) {
  if (result.numel() == 0) return;
  const int64_t rows = input.sizes()[0], count = input.sizes()[1];
  with_float_compute(
      "pdist", result,
      [&](auto zero, const Tensor& out, const Tensor& grads, const Tensor& points,
          const Tensor& lengths) {
        using T = decltype(zero);
        const Pairs<T> pairs{points.data<T>(), lengths.data<T>(), grads.data<T>(), rows, count};
        with_slope<T>(p, [&](const auto& slope) {
          parallel_for(0, rows, rows_at_once(rows, count), [&](int64_t begin, int64_t end) {
            std::vector<T> part(static_cast<size_t>(count));
            for (int64_t i = begin; i < end; ++i)
              point_grad(out.data<T>() + i * count, pairs, i, part.data(), slope);
          });
        });
      },
      grad_output, input, distances);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
