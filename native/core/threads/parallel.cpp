#include "core/threads/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "core/base/error.h"
#include "core/threads/interrupt.h"
#include "core/threads/thread_pool.h"

namespace flambeau {

namespace {
/// 0: the default.
std::atomic<int> thread_limit{0};

/// OMP_NUM_THREADS, as numeric libraries agree on that name, or the processors of this process.
int default_threads() {
  const char* const asked = std::getenv("OMP_NUM_THREADS");
  const std::string_view text = asked != nullptr ? asked : "";
  int count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count > 0 ? count : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Chunks of a thread's share: what is left of a late thread's is taken by others. At most this
/// many grains each, some milliseconds of work: between chunks a region may end (interrupt.h).
constexpr int64_t kChunksPerShare = 4, kGrainsPerChunk = 64;

void run_alone(int64_t begin, int64_t end, int64_t chunk,
               FunctionRef<void(int64_t, int64_t)> body) {
  for (; end - begin > chunk; begin += chunk) {
    body(begin, begin + chunk);
    check_interrupt();
  }
  body(begin, end);
}
}  // namespace

int num_threads() {
  static const int by_default = default_threads();
  const int limit = thread_limit.load(std::memory_order_relaxed);
  return limit > 0 ? limit : by_default;
}

void set_num_threads(int count) {
  check(count > 0, ErrorKind::runtime, "set_num_threads: expected a positive number, got ", count);
  thread_limit.store(count, std::memory_order_relaxed);
}

bool in_parallel_region() { return inside_pool(); }

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t count = end - begin;
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t wanted = (count - 1) / grain + 1;
  if (wanted == 1) return body(begin, end);
  const int64_t most = grain > count / kGrainsPerChunk ? count : grain * kGrainsPerChunk;
  if (in_parallel_region() || num_threads() == 1) return run_alone(begin, end, most, body);
  const int64_t threads = std::min<int64_t>(wanted, num_threads());
  const int64_t share = (count - 1) / (threads * kChunksPerShare) + 1;
  const int64_t chunk = std::min(std::max(grain, share), most);
  if (!run_in_pool(static_cast<int>(threads), begin, end, chunk, body))
    run_alone(begin, end, most, body);
}

}  // namespace flambeau
