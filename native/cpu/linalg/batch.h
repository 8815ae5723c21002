#pragma once

#include "core/threads/parallel.h"
#include "cpu/linalg/gemm.h"
#include "cpu/linalg/small_products.h"

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

/// c = a @ b for all matrices of two stacks.
template <class T>
void multiply_stacks(const SmallProducts<T>& all) {
  over_batch(all.count, all.m, all.n, all.k, [&](int64_t begin, int64_t end) {
    SmallProducts<T> some = all;
    some.count = end - begin;
    some.a = all.a.from(begin);
    some.b = all.b.from(begin);
    some.c += begin * all.m * all.n;
    if (multiply_small(some)) return;
    for (int64_t i = 0; i < some.count; ++i)
      gemm<T>({all.m, all.n, all.k, some.a.from(i).first, some.b.from(i).first,
               some.c + i * all.m * all.n, all.n});
  });
}

}  // namespace flambeau::cpu
