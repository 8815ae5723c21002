#include "cpu/lapack/flushed_subnormals.h"
#include "cpu/lapack/scaling.h"
#include "cpu/lapack/small_eigen.h"
#include "kernels/linalg_spectral.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// Eigenvalues of one matrix, and its right eigenvectors where they are wanted.
template <class T>
class Solver {
 public:
  using Complex = complex<Real<T>>;

  int operator()(int64_t n, T* matrix, int64_t step, Complex* values, Complex* vectors,
                 int64_t vector_step) {
    if (n == 0) return 0;
    T* const own = vectors == nullptr ? nullptr : vectors_.of(n * n);
    if (n != asked_) {
      T size{};
      call(n, matrix, step, values, own, &size, -1);
      size_ = asked_size(size);
      asked_ = n;
    }
    const int failed = call(n, matrix, step, values, own, work_.of(size_), size_);
    if (failed == 0 && own != nullptr) write(n, values, own, vectors, vector_step);
    return failed;
  }

 private:
  int call(int64_t n, T* matrix, int64_t step, Complex* values, T* own, T* work, int64_t size) {
    const char job = own == nullptr ? 'N' : 'V';
    Real<T>* const real_work = real_work_.of(2 * n);
    int failed = 0;
    if constexpr (kIsComplex<T>) {
      complex_geev<T>('N', job, n, matrix, step, values, own, n, own, n, work, size, real_work,
                      &failed);
    } else {
      real_geev<T>('N', job, n, matrix, step, real_work, real_work + n, own, n, own, n, work, size,
                   &failed);
      if (size >= 0)
        for (int64_t i = 0; i < n; ++i) values[i] = {real_work[i], real_work[n + i]};
    }
    return failed;
  }
  /// Of a conjugate pair, LAPACK's real vectors hold the real and the imaginary part.
  static void write(int64_t n, const Complex* values, const T* own, Complex* to, int64_t step) {
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (kIsComplex<T>) {
        std::copy(own + j * n, own + (j + 1) * n, to + j * step);
      } else if (values[j].im == 0 || j + 1 == n) {
        for (int64_t i = 0; i < n; ++i) to[j * step + i] = own[j * n + i];
      } else {
        for (int64_t i = 0; i < n; ++i) {
          const T re = own[j * n + i], im = own[(j + 1) * n + i];
          to[j * step + i] = {re, im};
          to[(j + 1) * step + i] = {re, -im};
        }
        ++j;
      }
    }
  }

  Scratch<T> vectors_, work_;
  Scratch<Real<T>> real_work_;
  int64_t asked_ = -1, size_ = 1;
};

template <class T>
void check_given(const char* op, const Matrix<const T>& matrix) {
  check(is_finite(matrix), ErrorKind::runtime, op, "(): the input has infinities or NaN");
}

constexpr int64_t kFew = 16;  // rows up to which calls of LAPACK take longer than the work

/// Of matrices of few rows, in double.
template <class T>
void decompose_few(const char* op, const Tensor& values, const Tensor& vectors, const Tensor& A) {
  using Complex = complex<Real<T>>;
  using Wide = std::conditional_t<kIsComplex<T>, complex<double>, double>;
  const Batch<const T> given(A);
  const Batch<Complex> found(values, 1);
  std::optional<Batch<Complex>> wanted;
  if (vectors.defined()) wanted.emplace(vectors);
  const int64_t n = given.rows();
  over_matrices(given.count(), 25 * n * n * n, [&](int64_t begin, int64_t end) {
    SmallEigen<Wide> eigen(n, wanted.has_value());
    for (int64_t b = begin; b < end; ++b) {
      const Matrix<const T> from = given[b];
      check_given(op, from);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) eigen.matrix()[i * n + j] = static_cast<Wide>(from(i, j));
      check(eigen.find(), ErrorKind::linalg, op, "(): (matrix ", b,
            ") the algorithm failed to converge");
      const Matrix<Complex> numbers = found[b];
      for (int64_t i = 0; i < n; ++i) numbers(i, 0) = static_cast<Complex>(eigen.values()[i]);
      if (!wanted) continue;
      const Matrix<Complex> columns = (*wanted)[b];
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i)
          columns(i, j) = static_cast<Complex>(eigen.vectors()[j * n + i]);
    }
  });
}

template <class T>
void decompose(const char* op, const Tensor& values, const Tensor& vectors, const Tensor& A) {
  using Complex = complex<Real<T>>;
  const Batch<const T> given(A);
  const Batch<Complex> found(values, 1);
  std::optional<Batch<Complex>> wanted;
  if (vectors.defined()) wanted.emplace(vectors);
  const int64_t n = given.rows();
  if (n <= kFew) return decompose_few<T>(op, values, vectors, A);
  over_matrices_by_lapack(given.count(), 25 * n * n * n, [&](int64_t begin, int64_t end) {
    Solver<T> solve;
    Scratch<T> scratch;
    Scratch<Complex> scratch_values, scratch_vectors;
    for (int64_t b = begin; b < end; ++b) {
      check_given(op, given[b]);
      const Matrix<T> matrix{scratch.of(n * n), n, n, 1, std::max<int64_t>(n, 1)};
      copy<T>(given[b], matrix);
      const int exponent = scale(matrix, false);  // LAPACK forgets to undo its own
      const Columns<Complex> numbers(found[b], scratch_values);
      std::optional<Columns<Complex>> columns;
      if (wanted) columns.emplace((*wanted)[b], scratch_vectors);
      const int failed = flushing_subnormals([&] {
        return solve(n, matrix.data, matrix.column_step, numbers.data(),
                     columns ? columns->data() : nullptr, columns ? columns->step() : n);
      });
      check(failed == 0, ErrorKind::linalg, op, "(): (matrix ", b,
            ") the algorithm failed to converge: only the eigenvalues from ", failed,
            " on were found");
      for (int64_t i = 0; i < n; ++i)
        numbers(i, 0) = {std::ldexp(numbers(i, 0).re, exponent),
                         std::ldexp(numbers(i, 0).im, exponent)};
      numbers.finish();
      if (columns) columns->finish();
    }
  });
}

}  // namespace

void general_eigen(const Tensor& eigenvalues, const Tensor& eigenvectors, const Tensor& A) {
  visit_elements_of_lapack(
      A.dtype(), [&]<class T>() { decompose<T>("general_eigen", eigenvalues, eigenvectors, A); });
}

void general_eigenvalues_alone(const Tensor& result, const Tensor& A) {
  visit_elements_of_lapack(
      A.dtype(), [&]<class T>() { decompose<T>("general_eigenvalues", result, Tensor(), A); });
}

}  // namespace flambeau::cpu
