#include "core/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "core/error.h"

#ifdef __SANITIZE_THREAD__
// The thread sanitizer does not see the barriers of libgomp: they are told to it.
extern "C" void __tsan_acquire(void* address);  // NOLINT: the sanitizer's names
extern "C" void __tsan_release(void* address);  // NOLINT
#define FLAMBEAU_ACQUIRE(address) __tsan_acquire(address)
#define FLAMBEAU_RELEASE(address) __tsan_release(address)
#else
#define FLAMBEAU_ACQUIRE(address) static_cast<void>(address)
#define FLAMBEAU_RELEASE(address) static_cast<void>(address)
#endif

namespace flambeau {

namespace {
/// 0: as OpenMP says (OMP_NUM_THREADS, the number of cores).
std::atomic<int> thread_limit{0};
/// In a forked child the threads of the parent's pool do not exist, and OpenMP does not know it.
std::atomic<bool> forked{false};
thread_local constinit bool inside_parallel_for = false;

[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] {
  forked.store(true, std::memory_order_relaxed);
  // Other users of OpenMP in this process (oneDNN) must not wait for the pool either.
  omp_set_num_threads(1);
});

struct RegionScope {
  bool previous = inside_parallel_for;
  RegionScope() { inside_parallel_for = true; }
  ~RegionScope() { inside_parallel_for = previous; }
};
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

bool in_parallel_region() { return inside_parallel_for || omp_in_parallel(); }

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
  const int threads = static_cast<int>(std::min<int64_t>(wanted, num_threads()));
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  FLAMBEAU_RELEASE(&failed);
#pragma omp parallel num_threads(threads)
  {
    FLAMBEAU_ACQUIRE(&failed);
    const RegionScope scope;
    // The team may be smaller than asked for.
    const int64_t team = omp_get_num_threads(), rank = omp_get_thread_num();
    const int64_t share = count / team, extra = count % team;
    const int64_t first = begin + rank * share + std::min(rank, extra);
    const int64_t last = first + share + (rank < extra ? 1 : 0);
    try {
      if (first < last) body(first, last);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
    FLAMBEAU_RELEASE(&failed);
  }
  FLAMBEAU_ACQUIRE(&failed);
  if (error) std::rethrow_exception(error);
}

}  // namespace flambeau
