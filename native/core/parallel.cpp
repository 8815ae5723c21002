#include "core/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "core/error.h"
#include "core/thread_pool.h"

namespace flambeau {

namespace {
/// 0: as OpenMP says (OMP_NUM_THREADS, the number of cores).
std::atomic<int> thread_limit{0};
/// In a forked child the threads of the parent's pool do not exist, and OpenMP does not know it.
std::atomic<bool> forked{false};

[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] {
  forked.store(true, std::memory_order_relaxed);
  // Other users of OpenMP in this process (oneDNN) must not wait for the pool either.
  omp_set_num_threads(1);
});

/// Chunks of a thread's share: what is left of a late thread's is taken by others.
constexpr int64_t kChunksPerShare = 4;
}  // namespace

int num_threads() {
  if (forked.load(std::memory_order_relaxed)) return 1;
  const int limit = thread_limit.load(std::memory_order_relaxed);
  return limit > 0 ? limit : omp_get_max_threads();
}

void set_num_threads(int count) {
  check(count > 0, ErrorKind::runtime, "set_num_threads: expected a positive number, got ", count);
  thread_limit.store(count, std::memory_order_relaxed);
  if (!forked.load(std::memory_order_relaxed)) omp_set_num_threads(count);
}

bool in_parallel_region() { return inside_pool() || omp_in_parallel(); }

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t count = end - begin;
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t wanted = (count - 1) / grain + 1;
  if (wanted == 1 || in_parallel_region() || num_threads() == 1) {
    body(begin, end);
    return;
  }
  const int64_t threads = std::min<int64_t>(wanted, num_threads());
  const int64_t chunk = std::max(grain, (count - 1) / (threads * kChunksPerShare) + 1);
  if (!run_in_pool(static_cast<int>(threads), begin, end, chunk, body)) body(begin, end);
}

}  // namespace flambeau
