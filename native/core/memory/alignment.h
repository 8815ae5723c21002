#pragma once

#include <cstdint>

#include "core/types/dtype.h"

namespace flambeau {

/// Whether elements of a dtype may begin at an address: kernels read and write whole numbers.
inline bool is_aligned(const void* data, DType dtype) {
  const size_t alignment = is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

}  // namespace flambeau
