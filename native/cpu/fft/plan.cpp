#include "cpu/fft/plan.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <utility>

namespace flambeau::cpu::fft {
namespace {

using Wide = long double;
struct Root {
  Wide re, im;
};

/// e^(-2 pi i k / n), 0 <= k < n: from an angle of at most an eighth of a turn.
Root root(int64_t k, int64_t n) {
  constexpr Wide kPi = 3.141592653589793238462643383279503L;
  // k / n = octant / 8 + rest / (8 n)
  const auto eighths = static_cast<unsigned __int128>(k) * 8;
  const auto octant = static_cast<int>(eighths / static_cast<uint64_t>(n));
  auto rest = static_cast<Wide>(static_cast<uint64_t>(eighths % static_cast<uint64_t>(n)));
  const bool odd = octant % 2 != 0;
  if (odd) rest = static_cast<Wide>(n) - rest;
  const Wide angle = kPi / 4 * rest / static_cast<Wide>(n);
  Wide c = std::cos(angle), s = std::sin(angle);
  if (odd) std::swap(c, s);
  // (c, s) is the angle within its quarter of a turn.
  switch (octant / 2 % 4) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

Root product(Root a, Root b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/// e^(-2 pi i k / n) for many k: the product of two out of about sqrt(n).
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    while ((int64_t{1} << (2 * bits_)) < n) ++bits_;
    const int64_t fine = int64_t{1} << bits_;
    for (int64_t k = 0; k < std::min(fine, n); ++k) fine_.push_back(root(k, n));
    for (int64_t k = 0; k < n; k += fine) coarse_.push_back(root(k, n));
  }
  Root operator()(int64_t k) const {
    const int64_t low = k & ((int64_t{1} << bits_) - 1);
    const Root& high = coarse_[static_cast<size_t>(k >> bits_)];
    return low == 0 ? high : product(high, fine_[static_cast<size_t>(low)]);
  }
  template <class T>
  void append(std::vector<T>& to, int64_t k) const {
    const Root r = (*this)(k % n_);
    to.push_back(static_cast<T>(r.re));
    to.push_back(static_cast<T>(r.im));
  }

 private:
  int64_t n_;
  int bits_ = 0;
  std::vector<Root> fine_, coarse_;
};

/// Prime factors in pairs of twos, the large ones first; what is above kLargestPrime comes as it
/// is.
std::vector<int64_t> radices(int64_t n) {
  std::vector<int64_t> result;
  int64_t twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (int64_t p = 3; p <= kLargestPrime; p += 2) {
    for (; n % p == 0; n /= p) result.insert(result.begin(), p);
  }
  if (n > 1) result.insert(result.begin(), n);
  // Larger ones take fewer passes: 16 where they are fewer than with 8.
  while (twos >= 4 && (twos + 3) / 4 < (twos + 2) / 3) {
    result.push_back(16);
    twos -= 4;
  }
  while (twos >= 5 || twos == 3) {
    result.push_back(8);
    twos -= 3;
  }
  for (; twos >= 2; twos -= 2) result.push_back(4);
  if (twos == 1) result.push_back(2);
  return result;
}

template <class T>
std::vector<Pass<T>> passes_of(int64_t n, const std::vector<int64_t>& factors) {
  std::vector<Pass<T>> result;
  for (int64_t radix : factors) {
    Pass<T> pass{radix, n / radix, {}, {}};
    const Roots roots(n);
    for (int64_t p = 0; p < pass.count; ++p) {
      for (int64_t k = 1; k < radix; ++k) roots.append(pass.twiddles, p * k);
    }
    for (int64_t k = 0; k < radix; ++k) roots.append(pass.roots, k * pass.count);
    n = pass.count;
    result.push_back(std::move(pass));
  }
  return result;
}

/// The divisor next to the square root, from below.
int64_t middle_divisor(int64_t n) {
  auto d = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % d != 0) --d;
  return d;
}

/// In place, of n numbers, whose prime factors are small: for filters alone. `roots` has n `step`.
void transform_wide(Root* x, Root* scratch, int64_t n, int64_t step, const Roots& roots) {
  if (n == 1) return;
  int64_t parts = 2;
  while (n % parts != 0) ++parts;
  const int64_t each = n / parts;
  for (int64_t i = 0; i < n; ++i) scratch[i % parts * each + i / parts] = x[i];
  for (int64_t r = 0; r < parts; ++r)
    transform_wide(scratch + r * each, x, each, parts * step, roots);
  for (int64_t k = 0; k < n; ++k) {
    Root sum = scratch[k % each];
    for (int64_t r = 1; r < parts; ++r) {
      const Root turned = product(roots(r * k % n * step), scratch[r * each + k % each]);
      sum = {sum.re + turned.re, sum.im + turned.im};
    }
    x[k] = sum;
  }
}

/// A length for convolutions of n numbers: of twos, threes and fives, as there is one near, of
/// which each takes a pass.
int64_t convolution_length(int64_t n) {
  constexpr double kOdd = 0.06;  // by how much a three or a five is slower than twos
  int64_t best = 1;
  while (best < 2 * n - 1) best *= 2;
  double least = static_cast<double>(best);
  for (const auto& [odd, factors] : {std::pair{3, 1}, {5, 1}, {9, 2}, {15, 2}, {25, 2}, {27, 3}}) {
    int64_t length = odd;
    while (length < 2 * n - 1) length *= 2;
    const double cost = static_cast<double>(length) * (1 + kOdd * factors);
    if (cost < least) {
      best = length;
      least = cost;
    }
  }
  return best;
}

template <class T>
void make_convolution(Plan<T>& plan) {
  const int64_t n = plan.n;
  const int64_t length = convolution_length(n);
  std::vector<Root> filter(static_cast<size_t>(length), Root{0, 0}), scratch(filter.size());
  int64_t square = 0;  // j^2 modulo 2 n
  for (int64_t j = 0; j < n; ++j) {
    const Root r = root(square, 2 * n);
    plan.chirp.push_back(static_cast<T>(r.re));
    plan.chirp.push_back(static_cast<T>(r.im));
    filter[static_cast<size_t>(j)] = {r.re, -r.im};
    if (j > 0) filter[static_cast<size_t>(length - j)] = {r.re, -r.im};
    square = (square + 2 * j + 1) % (2 * n);
  }
  transform_wide(filter.data(), scratch.data(), length, 1, Roots(length));
  for (const Root& r : filter) {
    plan.filter.push_back(static_cast<T>(r.re / static_cast<Wide>(length)));
    plan.filter.push_back(static_cast<T>(r.im / static_cast<Wide>(length)));
  }
  plan.padded = plan_of<T>(length);
}

template <class T>
std::shared_ptr<const Plan<T>> make(int64_t n, Plan<T>*) {
  auto plan = std::make_shared<Plan<T>>();
  plan->n = n;
  const std::vector<int64_t> factors = radices(n);
  if (!factors.empty() && factors[0] > kLargestPrime) {
    make_convolution(*plan);
    return plan;
  }
  if (n <= kLongestPasses) plan->passes = passes_of<T>(n, factors);
  const int64_t rows = middle_divisor(n);
  if (rows < 8) return plan;
  const int64_t columns = n / rows;
  plan->of_columns = plan_of<T>(rows);
  plan->of_rows = plan_of<T>(columns);
  const Roots roots(n);
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t j = 0; j < columns; ++j) roots.append(plan->turns, j * k);
  }
  plan->turns.resize(plan->turns.size() + kTurnsBehind);
  return plan;
}

template <class T>
std::shared_ptr<const RealPlan<T>> make(int64_t n, RealPlan<T>*) {
  auto plan = std::make_shared<RealPlan<T>>();
  plan->half = plan_of<T>(n / 2);
  const Roots roots(n);
  for (int64_t k = 0; k <= n / 2; ++k) roots.append(plan->roots, k);
  constexpr int64_t kRow = LinePlan<T>::kRow;
  plan->root_width = n == kRow * kRow ? kRow / 2 : kRow;
  for (int64_t k = 0; k + plan->root_width <= n / 2; k += plan->root_width)
    for (int64_t part = 0; part < 2; ++part)
      for (int64_t i = 0; i < kRow; ++i)
        plan->root_rows.push_back(
            plan->roots[static_cast<size_t>(2 * (k + i % plan->root_width) + part)]);
  return plan;
}

template <class T>
std::shared_ptr<const LinePlan<T>> make(int64_t n, LinePlan<T>*) {
  constexpr int64_t kRow = LinePlan<T>::kRow;
  auto plan = std::make_shared<LinePlan<T>>();
  const int64_t rows = n / kRow;
  plan->of_columns = plan_of<T>(rows);
  const Roots roots(n);
  for (int64_t first = 0; first < rows; first += kRow) {
    for (int64_t j = 1; j < kRow; ++j) {
      std::vector<T> row;
      // Fewer rows than one has elements are those of several lines.
      for (int64_t k = 0; k < kRow; ++k) roots.append(row, (first + k) % rows * j);
      for (size_t part = 0; part < 2; ++part)
        for (size_t k = 0; k < kRow; ++k) plan->turns.push_back(row[2 * k + part]);
    }
  }
  return plan;
}

/// The plans that were used last. One that is used lives on when it leaves.
template <class P>
class Cache {
 public:
  std::shared_ptr<const P> get(int64_t n) {
    if (auto found = find(n)) return found;
    auto made = make(n, static_cast<P*>(nullptr));  // unlocked: it may need others
    const std::lock_guard lock(mutex_);
    plans_.emplace_front(n, made);
    if (plans_.size() > kMost) plans_.pop_back();
    return made;
  }

 private:
  static constexpr size_t kMost = 32;

  std::shared_ptr<const P> find(int64_t n) {
    const std::lock_guard lock(mutex_);
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (it->first != n) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return plans_.front().second;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::list<std::pair<int64_t, std::shared_ptr<const P>>> plans_;
};

template <class P>
Cache<P>& cache() {
  static Cache<P> plans;
  return plans;
}

}  // namespace

int64_t near_cache_bytes() {
  static const int64_t bytes = std::max<int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
  return bytes;
}
int64_t longest_tile() {
  static const int64_t longest = [] {
    return std::clamp<int64_t>(near_cache_bytes() / 256, kLongAlone, 4096);
  }();
  return longest;
}

template <class T>
std::shared_ptr<const Plan<T>> plan_of(int64_t n) {
  return cache<Plan<T>>().get(n);
}
template <class T>
std::shared_ptr<const RealPlan<T>> real_plan_of(int64_t n) {
  return cache<RealPlan<T>>().get(n);
}
template <class T>
std::shared_ptr<const LinePlan<T>> line_plan_of(int64_t n) {
  return cache<LinePlan<T>>().get(n);
}

template std::shared_ptr<const Plan<float>> plan_of(int64_t);
template std::shared_ptr<const Plan<double>> plan_of(int64_t);
template std::shared_ptr<const RealPlan<float>> real_plan_of(int64_t);
template std::shared_ptr<const RealPlan<double>> real_plan_of(int64_t);
template std::shared_ptr<const LinePlan<float>> line_plan_of(int64_t);
template std::shared_ptr<const LinePlan<double>> line_plan_of(int64_t);

}  // namespace flambeau::cpu::fft
