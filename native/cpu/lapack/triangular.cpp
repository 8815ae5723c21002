#include "cpu/lapack/blocks.h"
#include "kernels/linalg_factors.h"

namespace flambeau::cpu {

using namespace lapack;

void solve_triangular(const Tensor& result, const Tensor& A, const Tensor& B, bool upper, bool left,
                      bool unitriangular) {
  copy_data(result, B);
  if (result.numel() == 0) return;
  const Tensor triangles = with_batch_of(A, result, 2);
  visit_elements(result.dtype(), [&]<class T>() {
    const Batch<T> all(triangles), unknown(result);
    const int64_t work = all.rows() * unknown.rows() * unknown.columns();
    over_matrices(unknown.count(), work, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const Matrix<const T> triangle = constant(all[b]);
        if (left)
          solve_triangle(triangle, unknown[b], upper, unitriangular);
        else  // X A = B is A' X' = B'
          solve_triangle(transposed(triangle), transposed(unknown[b]), !upper, unitriangular);
      }
    });
  });
}

}  // namespace flambeau::cpu
