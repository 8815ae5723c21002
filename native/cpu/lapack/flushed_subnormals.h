#pragma once

#include <utility>
#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace flambeau::cpu::lapack {

/// As long as one exists, this thread has 0 for results below the normal range. Iterations on a
/// matrix that lacks much of its rank leave many such numbers, and processors take a hundred times
/// as long over them. For matrices that were scaled, beside which they are nothing.
class FlushedSubnormals {
 public:
  FlushedSubnormals(const FlushedSubnormals&) = delete;
#if defined(__SSE__)
  FlushedSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | _MM_FLUSH_ZERO_ON); }
  ~FlushedSubnormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
  FlushedSubnormals() {}
#endif
};

/// What solve() returns, which iterates on a scaled matrix.
template <class Solve>
decltype(auto) flushing_subnormals(Solve&& solve) {
  const FlushedSubnormals flushed;
  return std::forward<Solve>(solve)();
}

}  // namespace flambeau::cpu::lapack
