#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/threads/parallel.h"
#include "cpu/nn/conv_types.h"
#include "kernels/distance.h"

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

/// Points turned so that one coordinate of all lies together, for sums of several points at once:
/// of few coordinates, which are added up one after the other.
template <class T>
class TurnedPoints {
 public:
  static constexpr int64_t kMost = 64, kTogether = 64;
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
    constexpr int64_t kWorthTurning = 8, kMany = 32;
    if (p < std::numeric_limits<double>::infinity() && some >= kWorthTurning && number >= kMany &&
        count <= TurnedPoints<T>::kMost)
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
  const T* points_;
  int64_t number_, count_;
  double p_;
  std::optional<TurnedPoints<T>> turned_;
};

/// So many rows of differences are worth a task.
int64_t rows_at_once(int64_t others, int64_t coordinates) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, others * coordinates));
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

}  // namespace flambeau::cpu::FLAMBEAU_ISA
