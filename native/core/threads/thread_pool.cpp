#include "core/threads/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "core/base/processor.h"
#include "core/threads/interrupt.h"

namespace flambeau {

namespace {

constexpr int kMaxThreads = 256;
constexpr size_t kCacheLine = 64;
/// How a thread waits: this many looks, then looks between yields for some time, then asleep.
constexpr int kLooks = 2000;
constexpr std::chrono::microseconds kYielding{500};

/// Items [next, last) of a share have not been taken.
struct alignas(kCacheLine) Share {
  std::atomic<int64_t> next{0};
  int64_t last = 0;
};

/// A helper's door bell: the number of the last region that wants it.
struct alignas(kCacheLine) Bell {
  std::atomic<int32_t> region{0};
  std::atomic<bool> is_asleep{false};
  std::atomic<int> processor{-1};  // where it ran when it heard the bell last
  pthread_t thread = 0;
  // From a processor, until it runs: then it may run on `allowed` ones again.
  std::atomic<bool> is_kept_away{false};
  cpu_set_t allowed = {};
};

/// Without a destructor, so that threads may outlive the end of main().
struct Pool {
  std::mutex owner;  // held while a region runs; guards what is not atomic
  int helpers = 0;   // threads started; the helper of rank r is at bells[r]
  int32_t last_region = 0;
  /// The region that may be joined, 0 for none, and how many helpers have joined or are about to
  /// see that they cannot. What describes a region changes only while both are zero.
  alignas(kCacheLine) std::atomic<int32_t> open{0};
  alignas(kCacheLine) std::atomic<int32_t> inside{0};
  int threads = 0;
  int64_t chunk = 0;
  const FunctionRef<void(int64_t, int64_t)>* body = nullptr;
  std::exception_ptr* error = nullptr;
  std::atomic<bool> failed{false};
  Share shares[kMaxThreads];
  Bell bells[kMaxThreads];
};

constinit Pool pool;
thread_local constinit bool in_region = false;

/// A forked child has no threads but its own: its pool starts anew.
[[maybe_unused]] const int fork_handler =
    pthread_atfork(nullptr, nullptr, [] { new (&pool) Pool; });

/// Returns when ready() is true or the time for watching is over.
template <class Ready>
void watch(Ready ready) {
  for (int look = 0; look < kLooks; ++look) {
    if (ready()) return;
    relax();
  }
  const auto end = std::chrono::steady_clock::now() + kYielding;
  while (!ready() && std::chrono::steady_clock::now() < end) sched_yield();
}

/// Takes chunks, of the thread's own share first, until none is left.
void work(int rank) {
  for (int i = 0; i < pool.threads; ++i) {
    Share& share = pool.shares[(rank + i) % pool.threads];
    while (!pool.failed.load(std::memory_order_relaxed)) {
      const int64_t first = share.next.fetch_add(pool.chunk, std::memory_order_relaxed);
      if (first >= share.last) break;
      try {
        check_interrupt();
        (*pool.body)(first, std::min(first + pool.chunk, share.last));
      } catch (...) {
        if (!pool.failed.exchange(true)) *pool.error = std::current_exception();
      }
    }
  }
}

/// Where a helper runs is not left to the system alone: virtual processors that sleep do not count
/// as idle for some, which then wake a helper on its caller's processor, or leave both there, for
/// as long as a slice of time lasts or for far longer. `taken`: by other threads of the pool.
void keep_away(Bell& bell, const cpu_set_t& taken) {
  if (pthread_getaffinity_np(bell.thread, sizeof bell.allowed, &bell.allowed) != 0) return;
  cpu_set_t shared, others;
  CPU_AND(&shared, &bell.allowed, &taken);
  CPU_XOR(&others, &bell.allowed, &shared);
  const bool is_apart = CPU_COUNT(&others) > 0 && CPU_COUNT(&shared) > 0 &&
                        pthread_setaffinity_np(bell.thread, sizeof others, &others) == 0;
  bell.is_kept_away.store(is_apart);
}

void move_freely(Bell& bell) {
  if (!bell.is_kept_away.load()) return;
  pthread_setaffinity_np(bell.thread, sizeof bell.allowed, &bell.allowed);
  bell.is_kept_away.store(false);
}

void sleep(Bell& bell, int32_t seen) {
  bell.is_asleep.store(true);
  bell.region.wait(seen);
  bell.is_asleep.store(false);
}

[[noreturn]] void help(int rank) {
  in_region = true;
  int32_t seen = 0;
  Bell& bell = pool.bells[rank];
  bell.thread = pthread_self();
  for (;;) {
    watch([&] { return bell.region.load(std::memory_order_relaxed) != seen; });
    if (bell.region.load() == seen) sleep(bell, seen);
    seen = bell.region.load();
    move_freely(bell);
    bell.processor.store(sched_getcpu(), std::memory_order_relaxed);
    pool.inside.fetch_add(1);
    if (pool.open.load() == seen) work(rank);
    if (pool.inside.fetch_sub(1) == 1) pool.inside.notify_one();
  }
}

/// Signals are for the program's own threads.
void start_helper(int rank) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(help, rank).detach();
    pool.helpers = rank;
  } catch (const std::system_error&) {
    // The system grants no more threads: those that are there do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void divide(int64_t begin, int64_t end) {
  const int64_t count = end - begin, share = count / pool.threads, extra = count % pool.threads;
  for (int rank = 0; rank < pool.threads; ++rank) {
    const int64_t first = begin + rank * share + std::min<int64_t>(rank, extra);
    pool.shares[rank].next.store(first, std::memory_order_relaxed);
    pool.shares[rank].last = first + share + (rank < extra ? 1 : 0);
  }
}

void ring(int32_t region) {
  pool.open.store(region);
  cpu_set_t taken;
  CPU_ZERO(&taken);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &taken);
  for (int rank = 1; rank < pool.threads; ++rank) {
    Bell& bell = pool.bells[rank];
    const auto processor = static_cast<size_t>(bell.processor.load());
    const bool may_be_in_the_way = bell.is_asleep.load() || CPU_ISSET(processor, &taken);
    if (may_be_in_the_way && !bell.is_kept_away.load()) keep_away(bell, taken);
    CPU_SET(processor, &taken);
    bell.region.store(region);
    bell.region.notify_one();
  }
}

void close() {
  pool.open.store(0);
  watch([] { return pool.inside.load() == 0; });
  for (int32_t left = pool.inside.load(); left != 0; left = pool.inside.load())
    pool.inside.wait(left);
}

}  // namespace

bool inside_pool() { return in_region; }

void leave_failed_region() {
  // The error itself is the other thread's; nobody sees this one.
  if (in_region && pool.failed.load(std::memory_order_relaxed)) throw std::exception();
}

bool run_in_pool(int threads, int64_t begin, int64_t end, int64_t chunk,
                 FunctionRef<void(int64_t, int64_t)> body) {
  const std::unique_lock<std::mutex> lock(pool.owner, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  threads = std::min(threads, kMaxThreads);
  for (int rank = pool.helpers + 1; rank < threads && pool.helpers == rank - 1; ++rank)
    start_helper(rank);
  std::exception_ptr error;
  pool.threads = std::min(threads, pool.helpers + 1);
  pool.chunk = chunk;
  pool.body = &body;
  pool.error = &error;
  pool.failed.store(false, std::memory_order_relaxed);
  divide(begin, end);
  pool.last_region = std::max(pool.last_region + 1, 1);
  in_region = true;
  ring(pool.last_region);
  work(0);
  close();
  in_region = false;
  if (error) std::rethrow_exception(error);
  return true;
}

}  // namespace flambeau
