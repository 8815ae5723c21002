#include "cpu/lapack/blocks.h"
#include "cpu/lapack/lanes.h"
#include "kernels/linalg_factors.h"

namespace flambeau::cpu {

using namespace lapack;

void solve_triangular(const Tensor& result, const Tensor& A, const Tensor& B, bool upper, bool left,
                      bool unitriangular) {
  if (result.numel() == 0) return;
  const Tensor triangles = with_batch_of(A, result, 2), sides_given = with_batch_of(B, result, 2);
  visit_elements(result.dtype(), [&]<class T>() {
    const Batch<T> all(triangles), unknown(result);
    const Batch<const T> given(sides_given);
    const int64_t n = all.rows(), sides = left ? unknown.columns() : unknown.rows();
    const LaneFactors<T>& kernels = lane_factors<T>();
    over_matrices(
        unknown.count(), n * n * sides, lanes_of<T>(n, sides), [&](int64_t b, int64_t end) {
          // X A = B is A' X' = B'.
          const bool is_upper = upper == left;
          const int64_t tiny = b + count_in_lanes<T>(b, end, n, sides);
          if (b < tiny) {
            Lanes<T> triangle(kernels.lanes, n, n), columns(kernels.lanes, n, sides);
            for (; b < tiny; b += kernels.lanes) {
              triangle.take(all, b, !left);
              columns.take(given, b, !left);
              kernels.substitute(is_upper, unitriangular, n, sides, triangle.data(),
                                 columns.data());
              columns.give(unknown, b, !left);
            }
          }
          for (; b < end; ++b) {
            copy<T>(given[b], unknown[b]);
            const Matrix<const T> triangle = constant(all[b]);
            solve_triangle(left ? triangle : transposed(triangle),
                           left ? unknown[b] : transposed(unknown[b]), is_upper, unitriangular);
          }
        });
  });
}

}  // namespace flambeau::cpu
