#include "core/iteration/described.h"

namespace flambeau::described {

[[noreturn]] FLAMBEAU_API void fail_without_loop(const char* op, const char* backend, DType dtype) {
  fail(ErrorKind::runtime, op, ": no ", backend, " kernel for dtype ", name(dtype));
}

}  // namespace flambeau::described
