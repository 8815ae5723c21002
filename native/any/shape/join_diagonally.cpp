#include "kernels/joining_any.h"

namespace flambeau::any {

void join_diagonally(const Tensor& result, TensorList matrices) {
  // One matrix is all of the result; between several there are zeros.
  if (matrices.size() != 1) fill_data(result, Scalar(0));
  int64_t offset = result.offset();
  for (const Tensor& matrix : matrices) {
    copy_data(make_view(result, matrix.sizes(), result.strides(), offset), matrix);
    offset += matrix.size(0) * result.strides()[0] + matrix.size(1) * result.strides()[1];
  }
}

}  // namespace flambeau::any
