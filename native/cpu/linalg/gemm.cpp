#include "cpu/linalg/gemm.h"

#include "cpu/linalg/gemm_strategies.h"

namespace flambeau::cpu {

template <class T>
void gemm(const Product<T>& call) {
  if (call.m == 0 || call.n == 0) return;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
    gemm_native<T>(call);
  } else if constexpr (std::is_same_v<T, complex<float>>) {
    gemm_complex<float>(call);
  } else if constexpr (std::is_same_v<T, complex<double>>) {
    gemm_complex<double>(call);
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    gemm_half<T>(call);
  } else {
    gemm_widened<T, int32_t>(call);
  }
}

#define FLAMBEAU_GEMM(T) template void gemm<T>(const Product<T>&);
FLAMBEAU_GEMM(float)
FLAMBEAU_GEMM(double)
FLAMBEAU_GEMM(float16)
FLAMBEAU_GEMM(bfloat16)
FLAMBEAU_GEMM(uint8_t)
FLAMBEAU_GEMM(int8_t)
FLAMBEAU_GEMM(int16_t)
FLAMBEAU_GEMM(int32_t)
FLAMBEAU_GEMM(int64_t)
FLAMBEAU_GEMM(complex<float>)
FLAMBEAU_GEMM(complex<double>)
#undef FLAMBEAU_GEMM

}  // namespace flambeau::cpu
