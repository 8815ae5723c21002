#include "cuda/convert.cuh"

namespace flambeau::cuda {

void convert_from_integral(const Iterator& iter) {
  switch (iter.dtype(1)) {
    case DType::bool_:
      return convert_from<bool>(iter);
    case DType::uint8:
      return convert_from<uint8_t>(iter);
    case DType::int8:
      return convert_from<int8_t>(iter);
    case DType::int16:
      return convert_from<int16_t>(iter);
    case DType::int32:
      return convert_from<int32_t>(iter);
    case DType::int64:
      return convert_from<int64_t>(iter);
    default:
      fail(ErrorKind::runtime, "copy: expected a source of bool or integers, got ", iter.dtype(1));
  }
}

}  // namespace flambeau::cuda
