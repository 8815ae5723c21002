#pragma once

#include "core/dtype.h"

namespace flambeau::cpu::onednn {

struct MatrixArgument {
  const void* data;
  int64_t row, column;
};

/// c = a @ b in bfloat16 on processors that multiply it in hardware. Returns false, having done
/// nothing, when the library or the processor cannot, or when a plainer way is faster.
bool matmul(DType dtype, int64_t m, int64_t n, int64_t k, MatrixArgument a, MatrixArgument b,
            void* c, int64_t ldc, float alpha, float beta, const void* bias);

}  // namespace flambeau::cpu::onednn
