#include "cpu/lapack/bidiagonal.h"
#include "cpu/lapack/flushed_subnormals.h"
#include "cpu/lapack/rotated.h"
#include "cpu/lapack/scaling.h"
#include "kernels/linalg_spectral.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// How many of the vectors are wanted, as gesdd calls it.
enum class Vectors : char { none = 'N', reduced = 'S', all = 'A' };

template <class T>
class Solver {
 public:
  Solver(Vectors vectors, int64_t m, int64_t n) : vectors_(vectors), m_(m), n_(n) {
    const int64_t small = std::min(m, n), large = std::max(m, n);
    integers_.of(8 * small);
    if (kIsComplex<T>) {
      const int64_t with_vectors =
          std::max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small);
      real_work_.of(std::max<int64_t>(1, vectors == Vectors::none ? 7 * small : with_vectors));
    }
  }
  /// Destroys the matrix, which is by columns.
  int operator()(T* matrix, Real<T>* values, T* left, int64_t left_step, T* right,
                 int64_t right_step) {
    if (m_ == 0 || n_ == 0) return 0;
    if (size_ == 0) {
      T size{};
      call(matrix, values, left, left_step, right, right_step, &size, -1);
      size_ = asked_size(size);
    }
    return call(matrix, values, left, left_step, right, right_step, work_.of(size_), size_);
  }

 private:
  int call(T* matrix, Real<T>* values, T* left, int64_t left_step, T* right, int64_t right_step,
           T* work, int64_t size) {
    int failed = 0;
    const char job = static_cast<char>(vectors_);
    if constexpr (kIsComplex<T>) {
      complex_gesdd<T>(job, m_, n_, matrix, m_, values, left, left_step, right, right_step, work,
                       size, real_work_.of(0), integers_.of(0), &failed);
    } else {
      real_gesdd<T>(job, m_, n_, matrix, m_, values, left, left_step, right, right_step, work, size,
                    integers_.of(0), &failed);
    }
    return failed;
  }

  Vectors vectors_;
  int64_t m_, n_, size_ = 0;
  Scratch<T> work_;
  Scratch<Real<T>> real_work_;
  Scratch<int> integers_;
};

/// one(number) for all matrices of [begin, end) but those that rotations decompose.
template <class T, class One>
void rotate_or(const Batch<const T>& given, const Batch<Real<T>>& values, const Batch<T>* left,
               const Batch<T>* right, int64_t begin, int64_t end, const One& one) {
  const int64_t m = given.rows(), n = given.columns(), k = std::min(m, n), longer = std::max(m, n);
  const bool is_reduced = !left || (left->columns() == k && right->rows() == k), is_wide = m < n;
  rotate_each<T>(
      longer, is_reduced ? k : 0, left != nullptr, begin, end,
      [&](Rotated<T>& some, int64_t first, int64_t count, T* found) {
        some.elements.take(given, first, is_wide, count);
        const uint32_t failed = lane_rotations<T>().singular(longer, k, some.elements.data(),
                                                             some.values.data(), found);
        some.values.give(values, first, false, count);
        if (left) {  // U = conj(V) and V^H = U^T of the transpose
          (is_wide ? some.vectors : some.elements).give(*left, first, false, count);
          (is_wide ? some.elements : some.vectors).give(*right, first, true, count);
        }
        return failed;
      },
      one);
}

/// Of a matrix without elements every orthonormal basis will do.
template <class T>
void set_identity(const Matrix<T>& matrix) {
  for (int64_t j = 0; j < matrix.columns; ++j)
    for (int64_t i = 0; i < matrix.rows; ++i) matrix(i, j) = T(i == j ? 1 : 0);
}

template <class T>
void check_success(const char* op, int failed, int64_t index, const Matrix<const T>& matrix) {
  if (failed == 0) return;
  fail(ErrorKind::linalg, op, "(): (matrix ", index, ") the algorithm failed to converge: ",
       is_finite(matrix) ? "the matrix has too many singular values that are nearly equal"
                         : "the input has infinities or NaN");
}

/// Whether a matrix has infinities: then it has no singular values. NaN is an error.
template <class T>
bool is_infinite(const char* op, int64_t index, const Matrix<const T>& matrix) {
  if (is_finite(matrix)) return false;
  for (int64_t j = 0; j < matrix.columns; ++j)
    for (int64_t i = 0; i < matrix.rows; ++i)
      if (matrix(i, j) != matrix(i, j)) check_success(op, 1, index, matrix);
  return true;
}

template <class T>
void set_nan(const Matrix<T>& matrix) {
  for (int64_t j = 0; j < matrix.columns; ++j)
    for (int64_t i = 0; i < matrix.rows; ++i)
      matrix(i, j) = std::numeric_limits<Real<T>>::quiet_NaN();
}

constexpr int64_t kLarge = 48;  // of the smaller side

/// With vectors.
template <class T>
void decompose_large(const char* op, const Tensor& U, const Tensor& S, const Tensor& Vh,
                     const Tensor& A) {
  const Batch<const T> given(A);
  const Batch<T> found(S, 1), left(U), right(Vh);
  const int64_t m = given.rows(), n = given.columns();
  over_matrices_by_lapack(
      given.count(), 10 * m * n * std::min(m, n), [&](int64_t begin, int64_t end) {
        Scratch<T> scratch;
        for (int64_t b = begin; b < end; ++b) {
          if (is_infinite(op, b, given[b])) {
            for (const Matrix<T>& part : {found[b], left[b], right[b]}) set_nan(part);
            continue;
          }
          const Columns<T> values(found[b], scratch);
          const int failed = find_singular(given[b], values.data(), left[b], right[b]);
          check_success(op, failed, b, given[b]);
          values.finish();
        }
      });
}

/// `U` and `Vh`: undefined where only singular values are wanted.
template <class T>
void decompose(const char* op, const Tensor& U, const Tensor& S, const Tensor& Vh,
               const Tensor& A) {
  const Batch<const T> given(A);
  const Batch<Real<T>> found(S, 1);
  std::optional<Batch<T>> left, right;
  const int64_t m = given.rows(), n = given.columns(), k = std::min(m, n);
  Vectors vectors = Vectors::none;
  if (U.defined()) {
    left.emplace(U);
    right.emplace(Vh);
    const bool reduced = left->columns() == k && right->rows() == k;
    vectors = reduced ? Vectors::reduced : Vectors::all;
  }
  over_matrices_by_lapack(given.count(), 10 * m * n * k, [&](int64_t begin, int64_t end) {
    Solver<T> solve(vectors, m, n);
    Scratch<T> scratch, scratch_left, scratch_right;
    Scratch<Real<T>> scratch_values;
    const Batch<T>*const u_wanted = left ? &*left : nullptr, *const vh_wanted =
                                                                 right ? &*right : nullptr;
    rotate_or(given, found, u_wanted, vh_wanted, begin, end, [&](int64_t b) {
      // LAPACK would seek their vectors for ever.
      if (is_infinite(op, b, given[b])) {
        set_nan(found[b]);
        if (!left) return;
        set_nan((*left)[b]);
        set_nan((*right)[b]);
        return;
      }
      const Matrix<T> matrix{scratch.of(m * n), m, n, 1, std::max<int64_t>(m, 1)};
      copy<T>(given[b], matrix);
      const Columns<Real<T>> values(found[b], scratch_values);
      std::optional<Columns<T>> u, vh;
      if (left) {
        u.emplace((*left)[b], scratch_left);
        vh.emplace((*right)[b], scratch_right);
      }
      const int exponent = scale(matrix, false);
      const int failed = flushing_subnormals([&] {
        return solve(matrix.data, values.data(), u ? u->data() : nullptr, u ? u->step() : 1,
                     vh ? vh->data() : nullptr, vh ? vh->step() : 1);
      });
      check_success(op, failed, b, given[b]);
      for (int64_t i = 0; i < k; ++i) values(i, 0) = std::ldexp(values(i, 0), exponent);
      values.finish();
      if (!left) return;
      u->finish();
      vh->finish();
      if (k == 0) {
        set_identity((*left)[b]);
        set_identity((*right)[b]);
      }
    });
  });
}

}  // namespace

void singular_vectors(const Tensor& U, const Tensor& S, const Tensor& Vh, const Tensor& A, bool) {
  visit_elements_of_lapack(A.dtype(), [&]<class T>() {
    if constexpr (!kIsComplex<T>)
      if (std::min(A.size(-1), A.size(-2)) >= kLarge)
        return decompose_large<T>("singular_vectors", U, S, Vh, A);
    decompose<T>("singular_vectors", U, S, Vh, A);
  });
}

void singular_values_alone(const Tensor& result, const Tensor& A) {
  visit_elements_of_lapack(A.dtype(), [&]<class T>() {
    decompose<T>("singular_values", Tensor(), result, Tensor(), A);
  });
}

}  // namespace flambeau::cpu
