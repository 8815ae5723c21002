#include "cuda/convert.cuh"

namespace flambeau::cuda {

void convert_from_integral(const Iterator& iter) {
  switch (iter.dtype(1)) {
#define FLAMBEAU_FROM(name, type, ...)                                       \
  case DType::name:                                                          \
    if constexpr (std::is_integral_v<type>) return convert_from<type>(iter); \
    break;
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_FROM)
#undef FLAMBEAU_FROM
  }
  fail(ErrorKind::runtime, "copy: expected a source of bool or integers, got ", iter.dtype(1));
}

}  // namespace flambeau::cuda
