#pragma once

#include <type_traits>

#include "core/types/element_types.h"

namespace flambeau::cuda {

/// A computed value as an element in memory.
template <class T>
__device__ __forceinline__ T narrow(Compute<T> value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, bfloat16>) {
    // One instruction; bfloat16's own conversion, which serves every processor, takes six.
    bfloat16 element;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(element.bits) : "f"(value));
    return element;
  }
#endif
  return static_cast<T>(value);
}

}  // namespace flambeau::cuda
