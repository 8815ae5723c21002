#pragma once

#include "core/threads/parallel.h"
#include "cpu/linalg/gemm.h"

namespace flambeau::cpu {

/// body(begin, end) over a batch of products of m x n x k: threads share the batch when there are
/// enough products to keep them busy, otherwise each product uses them itself.
template <class Body>
void over_batch(int64_t batch, int64_t m, int64_t n, int64_t k, const Body& body) {
  const int64_t work = m * n * k;
  if (batch >= num_threads() && batch > 1)
    parallel_for(0, batch, std::max<int64_t>(1, 200'000 / std::max<int64_t>(work, 1)), body);
  else
    body(0, batch);
}

}  // namespace flambeau::cpu
