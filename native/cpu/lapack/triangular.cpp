#include "cpu/lapack/matrices.h"
#include "kernels/linalg_factors.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// The tensor as if it had the dims in front of its matrices that the result has.
Tensor with_batch_of(const Tensor& tensor, const Tensor& result) {
  const size_t rank = result.sizes().size(), missing = rank - tensor.sizes().size();
  Shape sizes(result.sizes()), strides(result.sizes());
  for (size_t d = 0; d < rank; ++d) {
    const bool is_own = d >= missing && (d + 2 >= rank || tensor.sizes()[d - missing] != 1);
    strides[d] = is_own ? tensor.strides()[d - missing] : 0;
    if (d + 2 >= rank) sizes[d] = tensor.sizes()[d - missing];
  }
  return make_view(tensor, sizes, strides, tensor.offset());
}

/// A matrix, or its transpose where that is by columns.
template <class T>
struct Oriented {
  Matrix<T> matrix;
  bool transposed = false;

  explicit Oriented(const Matrix<T>& given) : matrix(given) {
    const Matrix<T> other{given.data, given.columns, given.rows, given.column_step, given.row_step};
    if (given.is_by_columns() || !other.is_by_columns()) return;
    matrix = other;
    transposed = true;
  }
};

struct Triangle {
  bool upper, left, unit;
};

/// Triangles of up to so many rows are solved before LAPACK has begun, for few right-hand sides.
constexpr int64_t kSmall = 16, kFew = 4;

/// A x = b for each column b, which becomes x.
template <class T>
void substitute(const Matrix<T>& a, const Matrix<T>& b, bool upper, bool unit) {
  const int64_t n = a.rows;
  for (int64_t c = 0; c < b.columns; ++c) {
    for (int64_t done = 0; done < n; ++done) {
      const int64_t k = upper ? n - 1 - done : done;
      if (!unit) b(k, c) = b(k, c) / a(k, k);
      const T found = b(k, c);
      const int64_t first = upper ? 0 : k + 1, last = upper ? k : n;
      for (int64_t i = first; i < last; ++i) b(i, c) = b(i, c) - a(i, k) * found;
    }
  }
}

/// Solves in place.
template <class T>
void solve_one(const Matrix<T>& a, const Matrix<T>& b, Triangle form, Scratch<T>& scratch) {
  if (form.left && a.rows <= kSmall && b.columns <= kFew)
    return substitute(a, b, form.upper, form.unit);
  Oriented<T> triangle(a);
  const Oriented<T> unknown(b);
  if (!triangle.matrix.is_by_columns()) {
    T* const packed = scratch.of(a.rows * a.columns);
    triangle.matrix = {packed, a.rows, a.columns, 1, std::max<int64_t>(a.rows, 1)};
    copy<T>(constant(a), triangle.matrix);
  }
  // A X = B is X' A' = B', and the triangle of A' is the other one.
  const bool left = form.left != unknown.transposed;
  const bool upper = form.upper != triangle.transposed;
  const bool other = triangle.transposed != unknown.transposed;
  trsm<T>(left ? 'L' : 'R', upper ? 'U' : 'L', other ? 'T' : 'N', form.unit ? 'U' : 'N',
          unknown.matrix.rows, unknown.matrix.columns, T(1), triangle.matrix.data,
          std::max<int64_t>(triangle.matrix.column_step, triangle.matrix.rows), unknown.matrix.data,
          std::max<int64_t>(unknown.matrix.column_step, unknown.matrix.rows));
}

}  // namespace

void solve_triangular(const Tensor& result, const Tensor& A, const Tensor& B, bool upper, bool left,
                      bool unitriangular) {
  copy_data(result, B);
  if (result.numel() == 0) return;
  const Tensor triangles = with_batch_of(A, result);
  visit_elements(result.dtype(), [&]<class T>() {
    const Batch<T> all(triangles), unknown(result);
    const int64_t work = all.rows() * unknown.rows() * unknown.columns();
    over_matrices(unknown.count(), work, [&](int64_t begin, int64_t end) {
      Scratch<T> scratch;
      for (int64_t b = begin; b < end; ++b)
        solve_one<T>(all[b], unknown[b], {upper, left, unitriangular}, scratch);
    });
  });
}

}  // namespace flambeau::cpu
