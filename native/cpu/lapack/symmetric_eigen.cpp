#include <cmath>

#include "cpu/lapack/blocks.h"
#include "cpu/lapack/rotated.h"
#include "cpu/lapack/scaling.h"
#include "cpu/lapack/tridiagonal.h"
#include "cpu/lapack/tridiagonal_form.h"
#include "kernels/linalg_spectral.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// The memory of a call of syevd or heevd, and the call.
template <class T>
class Solver {
 public:
  /// `values`: n of them, ascending; the columns of `matrix` become vectors.
  int operator()(bool lower, int64_t n, T* matrix, int64_t step, Real<T>* values) {
    if (n == 0) return 0;
    if (n != asked_) ask(lower, n, matrix, step, values);
    return call(lower, n, matrix, step, values, work_.of(size_), size_, real_work_.of(real_size_),
                real_size_, integers_.of(integer_size_), integer_size_);
  }

 private:
  void ask(bool lower, int64_t n, T* matrix, int64_t step, Real<T>* values) {
    T size{};
    Real<T> real_size{};
    int integer_size = 0;
    call(lower, n, matrix, step, values, &size, -1, &real_size, -1, &integer_size, -1);
    size_ = asked_size(size);
    real_size_ = asked_size(real_size);
    integer_size_ = std::max(1, integer_size);
    asked_ = n;
  }
  static int call(bool lower, int64_t n, T* matrix, int64_t step, Real<T>* values, T* work,
                  int64_t size, Real<T>* real_work, int64_t real_size, int* integers,
                  int64_t integer_size) {
    const char job = 'V', triangle = lower ? 'L' : 'U';
    int failed = 0;
    if constexpr (kIsComplex<T>) {
      heevd<T>(job, triangle, n, matrix, step, values, work, size, real_work, real_size, integers,
               integer_size, &failed);
    } else {
      syevd<T>(job, triangle, n, matrix, step, values, work, size, integers, integer_size, &failed);
    }
    return failed;
  }

  Scratch<T> work_;
  Scratch<Real<T>> real_work_;
  Scratch<int> integers_;
  int64_t asked_ = -1, size_ = 1, real_size_ = 1, integer_size_ = 1;
};

/// A Hermitian matrix that becomes tridiagonal: a small one in kernels of ours, else by LAPACK.
template <class T>
class Tridiagonal {
 public:
  explicit Tridiagonal(int64_t n)
      : n_(n),
        matrix_(n, n),
        tau_(static_cast<size_t>(n)),
        diagonal_(static_cast<size_t>(n)),
        beside_(static_cast<size_t>(n)) {
    if (is_small()) {
      room_.of(tridiagonal_form<T>().room(n));
    } else {
      T size{};
      call(&size, -1);
      work_.of(size_ = asked_size(size));
    }
  }
  /// The lower or the upper triangle of `given` counts. Returns the power of two that the values of
  /// the tridiagonal matrix lack.
  int reduce(const Matrix<const T>& given, bool lower) {
    const Matrix<T> matrix = matrix_.all();
    copy<T>(lower ? given : transposed(given), matrix);
    if constexpr (kIsComplex<T>)
      if (!lower) conjugate(matrix);
    const int exponent = scale(matrix, true);
    if (is_small()) {
      tridiagonal_form<T>().reduce({n_, matrix.data, n_}, diagonal_.data(), beside_.data(),
                                   tau_.data(), room_.of(0));
    } else {
      call(work_.of(size_), size_);
    }
    return exponent;
  }
  Real<T>* diagonal() { return diagonal_.data(); }
  Real<T>* beside() { return beside_.data(); }
  /// Vectors of the tridiagonal matrix become those of the matrix.
  void turn_back(const Matrix<T>& vectors) const {
    apply_reflections(part(vectors, 1, 0, n_ - 1, n_),
                      constant(part(matrix_.all(), 1, 0, n_ - 1, n_ - 1)), tau_.data(), n_ - 1,
                      true, false);
  }

 private:
  static constexpr int64_t kBytes = 1 << 21;  // that are read once a step: caches hold them

  bool is_small() const { return n_ * n_ * static_cast<int64_t>(sizeof(T)) <= kBytes; }
  void call(T* work, int64_t size) {
    int failed = 0;
    sytrd<T>('L', n_, matrix_.all().data, n_, diagonal_.data(), beside_.data(), tau_.data(), work,
             size, &failed);
  }

  int64_t n_, size_ = 0;
  Owned<T> matrix_;
  std::vector<T> tau_;
  std::vector<Real<T>> diagonal_, beside_;
  Scratch<T> work_;
  Scratch<Real<T>> room_;
};

/// With vectors, of matrices that are worth it: in our own threads.
template <class T>
class LargeSolver {
 public:
  explicit LargeSolver(int64_t n)
      : n_(n), form_(n), real_(kIsComplex<T> ? n : 0, kIsComplex<T> ? n : 0) {}
  /// `vectors` lies by columns.
  bool operator()(const Matrix<const T>& given, bool lower, Real<T>* values,
                  const Matrix<T>& vectors) {
    const int exponent = form_.reduce(given, lower);
    if (!solve(values, vectors)) return false;
    for (int64_t i = 0; i < n_; ++i) values[i] = std::ldexp(values[i], exponent);
    form_.turn_back(vectors);
    return true;
  }

 private:
  /// The tridiagonal matrix.
  bool solve(Real<T>* values, const Matrix<T>& vectors) {
    if constexpr (kIsComplex<T>) {
      const Matrix<Real<T>> real = real_.all();
      if (!solve_tridiagonal(form_.diagonal(), form_.beside(), values, real)) return false;
      for (int64_t j = 0; j < n_; ++j)
        for (int64_t i = 0; i < n_; ++i) vectors(i, j) = T(real(i, j));
      return true;
    } else {
      return solve_tridiagonal(form_.diagonal(), form_.beside(), values, vectors);
    }
  }

  int64_t n_;
  Tridiagonal<T> form_;
  Owned<Real<T>> real_;
};

void check_converged(const char* op, int64_t matrix, int failed) {
  check(failed == 0, ErrorKind::linalg, op, "(): (matrix ", matrix,
        ") the algorithm failed to converge: ", failed,
        " off-diagonal elements of an intermediate form did not become zero");
}

/// one(number) for all matrices of [begin, end) but those that rotations decompose.
template <class T, class One>
void rotate_or(const Batch<const T>& given, bool lower, const Batch<Real<T>>& values,
               const Batch<T>* vectors, int64_t begin, int64_t end, const One& one) {
  const int64_t n = given.rows();
  rotate_each<T>(
      n, n, vectors != nullptr, begin, end,
      [&](Rotated<T>& some, int64_t first, int64_t count, T* found) {
        some.elements.take(given, first, lower, count);
        if (lower) some.elements.conjugate();
        const uint32_t left =
            lane_rotations<T>().symmetric(n, some.elements.data(), some.values.data(), found);
        some.values.give(values, first, false, count);
        if (vectors) some.vectors.give(*vectors, first, false, count);
        return left;
      },
      one);
}

constexpr int64_t kLarge = 10;  // rows

template <class T>
void decompose_large(const char* op, const Tensor& values, const Tensor& vectors, const Tensor& A,
                     bool lower) {
  const Batch<const T> given(A);
  const Batch<Real<T>> found(values, 1);
  const Batch<T> wanted(vectors);
  const int64_t n = given.rows();
  find_routines<Real<T>>();
  over_matrices_by_lapack(given.count(), 9 * n * n * n, [&](int64_t begin, int64_t end) {
    LargeSolver<T> solve(n);
    Scratch<T> scratch;
    Scratch<Real<T>> scratch_values;
    for (int64_t b = begin; b < end; ++b) {
      const Columns<Real<T>> numbers(found[b], scratch_values);
      const Columns<T> matrix(wanted[b], scratch);
      check(solve(given[b], lower, numbers.data(), matrix.part(n, n)), ErrorKind::linalg, op,
            "(): (matrix ", b, ") the algorithm failed to converge: off-diagonal elements of an ",
            "intermediate form did not become zero");
      numbers.finish();
      matrix.finish();
    }
  });
}

template <class T>
void decompose(const char* op, const Tensor& values, const Tensor& vectors, const Tensor& A,
               bool lower) {
  const Batch<const T> given(A);
  const Batch<Real<T>> found(values, 1);
  const Batch<T> wanted(vectors);
  const int64_t n = given.rows();
  if (n == 0) return;
  over_matrices_by_lapack(given.count(), 9 * n * n * n, [&](int64_t begin, int64_t end) {
    Solver<T> solve;
    Scratch<T> scratch;
    Scratch<Real<T>> scratch_values;
    rotate_or(given, lower, found, &wanted, begin, end, [&](int64_t b) {
      const Columns<Real<T>> numbers(found[b], scratch_values);
      const Columns<T> matrix(wanted[b], scratch);
      matrix.fill(given[b]);
      check_converged(op, b, solve(lower, n, matrix.data(), matrix.step(), numbers.data()));
      numbers.finish();
      matrix.finish();
    });
  });
}

template <class T>
void find_values(const char* op, const Tensor& values, const Tensor& A, bool lower) {
  const Batch<const T> given(A);
  const Batch<Real<T>> found(values, 1);
  const int64_t n = given.rows();
  if (n == 0) return;
  find_routines<Real<T>>();
  over_matrices_by_lapack(given.count(), 9 * n * n * n, [&](int64_t begin, int64_t end) {
    Tridiagonal<T> form(n);
    rotate_or<T>(given, lower, found, nullptr, begin, end, [&](int64_t b) {
      const int exponent = form.reduce(given[b], lower);
      int failed = 0;
      sterf<Real<T>>(n, form.diagonal(), form.beside(), &failed);
      check_converged(op, b, failed);
      const Matrix<Real<T>> numbers = found[b];
      for (int64_t i = 0; i < n; ++i) numbers(i, 0) = std::ldexp(form.diagonal()[i], exponent);
    });
  });
}

}  // namespace

void symmetric_eigen(const Tensor& eigenvalues, const Tensor& eigenvectors, const Tensor& A,
                     bool lower) {
  visit_elements_of_lapack(A.dtype(), [&]<class T>() {
    const auto run = A.size(-1) >= kLarge ? decompose_large<T> : decompose<T>;
    run("symmetric_eigen", eigenvalues, eigenvectors, A, lower);
  });
}

void symmetric_eigenvalues_alone(const Tensor& result, const Tensor& A, bool lower) {
  visit_elements_of_lapack(
      A.dtype(), [&]<class T>() { find_values<T>("symmetric_eigenvalues", result, A, lower); });
}

}  // namespace flambeau::cpu
