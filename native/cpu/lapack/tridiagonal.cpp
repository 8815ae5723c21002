#include "cpu/lapack/tridiagonal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "cpu/lapack/blocks.h"
#include "cpu/lapack/secular.h"

// J. Cuppen, A Divide and Conquer Method for the Symmetric Tridiagonal Eigenproblem, 1981: without
// one element beside the diagonal a matrix is two, whose eigenvalues and vectors turn it into a
// diagonal plus a product of a vector with itself. J. Dongarra and D. Sorensen, A Fully Parallel
// Algorithm for the Symmetric Eigenvalue Problem, 1987: most of that vector's elements may be taken
// for zero. All but the vectors is computed in double.

namespace flambeau::cpu::lapack {
namespace {

constexpr int64_t kLeaf = 16;            // rows that LAPACK solves
constexpr int64_t kLeaves = 4;           // that pay for a thread
constexpr int64_t kThreadWork = 10'000;  // divisions that pay for a thread

/// Two solved halves of a matrix become one.
template <class T>
class Merge {
 public:
  /// `q`: two blocks, of the vectors of both halves; `values`: theirs, each ascending. `beside`:
  /// the element between the halves.
  Merge(const Matrix<T>& q, int64_t half, double* values, double beside)
      : q_(q), half_(half), count_(q.rows), values_(values), scale_(2 * std::abs(beside)) {
    sort();
    find_weights(beside < 0);
    deflate();
  }
  void run() {
    group();
    solve();
    multiply_vectors();
    write();
  }

 private:
  /// Where the elements of a column are that are not 0.
  enum Place : uint8_t { above, both, below };

  void sort() {
    order_.resize(static_cast<size_t>(count_));
    std::iota(order_.begin(), order_.end(), 0);
    std::inplace_merge(order_.begin(), order_.begin() + half_, order_.end(),
                       [&](int64_t a, int64_t b) { return values_[a] < values_[b]; });
  }

  /// The rows at which the halves meet, of length 1.
  void find_weights(bool is_negative) {
    const double sign = is_negative ? -1 : 1;
    weights_.resize(static_cast<size_t>(count_));
    places_.resize(static_cast<size_t>(count_));
    for (int64_t j = 0; j < count_; ++j) {
      const bool is_above = j < half_;
      weights_[index(j)] = static_cast<double>(q_(is_above ? half_ - 1 : half_, j)) *
                           (is_above ? 1 : sign) * std::sqrt(0.5);
      places_[index(j)] = is_above ? above : below;
    }
  }

  /// Drops what is an eigenvalue already: where the weight is nothing, or a rotation of two columns
  /// whose values are nearly equal makes it nothing.
  void deflate() {
    double largest = 0;
    for (int64_t j = 0; j < count_; ++j)
      largest = std::max({largest, std::abs(values_[j]), scale_ * std::abs(weights_[index(j)])});
    const double small = 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest;
    int64_t before = -1;
    for (const int64_t j : order_) {
      if (scale_ * std::abs(weights_[index(j)]) <= small) {
        dropped_.push_back(j);
        continue;
      }
      if (before >= 0) (rotates(before, j, small) ? dropped_ : kept_).push_back(before);
      before = j;
    }
    if (before >= 0) kept_.push_back(before);
  }

  bool rotates(int64_t i, int64_t j, double small) {
    double &first = weights_[index(i)], &second = weights_[index(j)];
    const double length = std::hypot(first, second), c = second / length, s = -first / length;
    const double apart = values_[j] - values_[i];
    if (std::abs(apart * c * s) > small) return false;
    second = length;
    first = 0;
    if (places_[index(i)] != places_[index(j)]) places_[index(i)] = places_[index(j)] = both;
    T *const x = &q_(0, i), *const y = &q_(0, j);
    const T cosine = static_cast<T>(c), sine = static_cast<T>(s);
    for (int64_t row = 0; row < count_; ++row) {
      const T old = x[row];
      x[row] = cosine * old + sine * y[row];
      y[row] = cosine * y[row] - sine * old;
    }
    values_[i] += apart * s * s;
    values_[j] -= apart * s * s;
    return true;
  }

  /// The kept columns in three groups, so that products leave out what is zero.
  void group() {
    int64_t sizes[3] = {};
    for (const int64_t j : kept_) ++sizes[places_[index(j)]];
    upper_ = sizes[above] + sizes[both];
    lower_first_ = sizes[above];
    int64_t next[3] = {0, sizes[above], upper_};
    for (const int64_t j : kept_) {
      ranks_.push_back(next[places_[index(j)]]++);
      poles_.push_back(values_[j]);
      kept_weights_.push_back(weights_[index(j)]);
    }
  }

  void solve() {
    const auto kept = static_cast<int64_t>(kept_.size());
    std::vector<int64_t> origins(kept_.size());
    std::vector<double> shifts(kept_.size()), refined(kept_.size());
    const Secular call{kept,   poles_.data(),  kept_weights_.data(),
                       scale_, origins.data(), shifts.data()};
    const SecularKernels& kernels = secular_kernels();
    const int64_t grain = std::max<int64_t>(1, kThreadWork / std::max<int64_t>(1, kept));
    parallel_for(0, kept, std::max<int64_t>(1, grain / 8),
                 [&](int64_t begin, int64_t end) { kernels.solve(call, begin, end); });
    parallel_for(0, kept, grain, [&](int64_t begin, int64_t end) {
      kernels.refine(call, begin, end, refined.data());
    });
    turns_.emplace(kept, kept);
    parallel_for(0, kept, grain, [&](int64_t begin, int64_t end) {
      std::vector<double> line(kept_.size());
      for (int64_t i = begin; i < end; ++i) {
        kernels.vector(call, i, refined.data(), line.data());
        T* const column = &turns_->all()(0, i);
        for (int64_t j = 0; j < kept; ++j)
          column[ranks_[index(j)]] = static_cast<T>(line[index(j)]);
      }
    });
    for (int64_t i = 0; i < kept; ++i)
      found_.push_back(poles_[index(origins[index(i)])] + shifts[index(i)]);
  }

  void multiply_vectors() {
    const auto kept = static_cast<int64_t>(kept_.size());
    const int64_t rest = count_ - half_, lower = kept - lower_first_;
    const Owned<T> top(half_, upper_), bottom(rest, lower);
    for (int64_t j = 0; j < kept; ++j) {
      const int64_t rank = ranks_[index(j)];
      const T* const column = &q_(0, kept_[index(j)]);
      if (rank < upper_) std::copy_n(column, half_, &top.all()(0, rank));
      if (rank >= lower_first_)
        std::copy_n(column + half_, rest, &bottom.all()(0, rank - lower_first_));
    }
    products_.emplace(count_, kept);
    if (kept == 0) return;
    const Matrix<T> turns = turns_->all(), to = products_->all();
    multiply(part(to, 0, 0, half_, kept), T(1), constant(top.all()),
             constant(part(turns, 0, 0, upper_, kept)), T(0));
    multiply(part(to, half_, 0, rest, kept), T(1), constant(bottom.all()),
             constant(part(turns, lower_first_, 0, lower, kept)), T(0));
  }

  /// All eigenvalues, ascending, and their vectors.
  void write() {
    const auto by_value = [&](int64_t a, int64_t b) { return values_[a] < values_[b]; };
    std::sort(dropped_.begin(), dropped_.end(), by_value);
    const Owned<T> copies(count_, static_cast<int64_t>(dropped_.size()));
    std::vector<double> values;
    for (const int64_t j : dropped_) {
      std::copy_n(&q_(0, j), count_, &copies.all()(0, static_cast<int64_t>(values.size())));
      values.push_back(values_[j]);
    }
    size_t old = 0, found = 0;
    for (int64_t j = 0; j < count_; ++j) {
      const bool is_old =
          found == found_.size() || (old < values.size() && values[old] < found_[found]);
      const Matrix<T> from = is_old ? copies.all() : products_->all();
      size_t& next = is_old ? old : found;
      values_[j] = (is_old ? values : found_)[next];
      std::copy_n(&from(0, static_cast<int64_t>(next)), count_, &q_(0, j));
      ++next;
    }
  }

  static size_t index(int64_t i) { return static_cast<size_t>(i); }

  Matrix<T> q_;
  int64_t half_, count_, upper_ = 0, lower_first_ = 0;
  double* values_;
  double scale_;
  std::vector<int64_t> order_, kept_, dropped_, ranks_;
  std::vector<double> weights_, poles_, kept_weights_, found_;
  std::vector<Place> places_;
  std::optional<Owned<T>> turns_, products_;
};

/// A small matrix, by LAPACK.
template <class T>
bool solve_leaf(const double* diagonal, const double* beside, double* values,
                const Matrix<T>& vectors) {
  T numbers[kLeaf], others[kLeaf] = {}, work[2 * kLeaf];
  std::copy_n(diagonal, vectors.rows, numbers);
  std::copy_n(beside, vectors.rows - 1, others);
  int failed = 0;
  steqr<T>('I', vectors.rows, numbers, others, vectors.data, vectors.column_step, work, &failed);
  std::copy_n(numbers, vectors.rows, values);
  return failed == 0;
}

}  // namespace

template <class T>
bool solve_tridiagonal(const T* diagonal, const T* beside, T* values, const Matrix<T>& vectors) {
  const int64_t n = vectors.rows;
  std::vector<double> own(diagonal, diagonal + n), between(beside, beside + n - 1), found(own);
  if (!is_finite(own) || !is_finite(between)) {
    constexpr T kNone = std::numeric_limits<T>::quiet_NaN();
    std::fill_n(values, n, kNone);
    for (int64_t j = 0; j < n; ++j) std::fill_n(&vectors(0, j), n, kNone);
    return true;
  }
  // Where parts begin; there are a power of two of them.
  int64_t parts = 1;
  while (n > parts * kLeaf) parts *= 2;
  const auto begins = [&](int64_t part) { return n * part / parts; };
  for (int64_t part = 1; part < parts; ++part) {
    const int64_t row = begins(part);
    const double size = std::abs(between[static_cast<size_t>(row - 1)]);
    own[static_cast<size_t>(row - 1)] -= size;
    own[static_cast<size_t>(row)] -= size;
  }
  for (int64_t j = 0; j < n; ++j) std::fill_n(&vectors(0, j), n, T(0));
  const auto block = [&](int64_t first, int64_t last) {
    return part(vectors, first, first, last - first, last - first);
  };
  std::atomic<bool> converged = true;
  parallel_for(0, parts, kLeaves, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = begins(i);
      if (!solve_leaf(own.data() + row, between.data() + row, found.data() + row,
                      block(row, begins(i + 1))))
        converged = false;
    }
  });
  if (!converged) return false;
  for (int64_t merged = 1; merged < parts; merged *= 2)
    parallel_for(0, parts / (2 * merged), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = begins(2 * i * merged), middle = begins((2 * i + 1) * merged);
        Merge<T>(block(first, begins(2 * (i + 1) * merged)), middle - first, found.data() + first,
                 between[static_cast<size_t>(middle - 1)])
            .run();
      }
    });
  std::ranges::transform(found, values, [](double value) { return static_cast<T>(value); });
  return true;
}

template bool solve_tridiagonal(const float*, const float*, float*, const Matrix<float>&);
template bool solve_tridiagonal(const double*, const double*, double*, const Matrix<double>&);

}  // namespace flambeau::cpu::lapack
