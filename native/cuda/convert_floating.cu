#include "cuda/convert.cuh"

namespace flambeau::cuda {

void convert_from_floating(const Iterator& iter) {
  switch (iter.dtype(1)) {
    case DType::float16:
      return convert_from<float16>(iter);
    case DType::bfloat16:
      return convert_from<bfloat16>(iter);
    case DType::float32:
      return convert_from<float>(iter);
    case DType::float64:
      return convert_from<double>(iter);
    case DType::complex64:
      return convert_from<complex<float>>(iter);
    case DType::complex128:
      return convert_from<complex<double>>(iter);
    default:
      fail(ErrorKind::runtime, "copy: expected a floating or complex source, got ", iter.dtype(1));
  }
}

}  // namespace flambeau::cuda
