#include "core/iteration/iterator.h"
#include "core/iteration/reduction.h"

namespace flambeau::cuda {

[[noreturn]] FLAMBEAU_API void unsupported(const Iterator& iter) {
  fail(ErrorKind::runtime, iter.op(), ": no CUDA kernel for dtype ", name(iter.common_dtype()));
}

[[noreturn]] FLAMBEAU_API void unsupported(const Reduction& reduction) {
  fail(ErrorKind::runtime, reduction.op(), ": no CUDA kernel for dtype ",
       name(reduction.input_dtype()));
}

}  // namespace flambeau::cuda
