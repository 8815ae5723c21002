#include "cuda/loops.cuh"
#include "kernels/example_operators/banded_cuda.h"

namespace flambeau::cuda {

namespace {

/// One element of the product, by its row; what would lie outside the matrix is not read.
template <class T>
struct Row {
  const T *lower, *diagonal, *upper, *vec;
  int64_t n;
  __device__ T operator()(int64_t i) const {
    T sum = diagonal[i] * vec[i];
    if (i > 0) sum += lower[i] * vec[i - 1];
    if (i < n - 1) sum += upper[i] * vec[i + 1];
    return sum;
  }
};

template <class T>
void product(const Tensor& result, const Tensor& bands, const Tensor& vec) {
  const T* first = bands.data<T>();
  const int64_t n = vec.numel();
  Iterator iter("tridiagonal_mv");
  iter.add_output(result, result.dtype());
  iter.build({.promoted = 0});
  map_indexed<Types<Outs<T>, Ins<>>, Returns>(
      iter, Row<T>{first, first + n, first + 2 * n, vec.data<T>(), n});
}

}  // namespace

void tridiagonal_mv(const Tensor& result, const Tensor& bands, const Tensor& vec) {
  const Tensor dense_bands = contiguous_data(bands), dense_vec = contiguous_data(vec);
  if (result.dtype() == DType::float32) {
    product<float>(result, dense_bands, dense_vec);
  } else {
    product<double>(result, dense_bands, dense_vec);
  }
}

}  // namespace flambeau::cuda
