#pragma once

/// The threads that help callers of parallel_for (core/threads/parallel.h).
///
/// A region divides its range into one share per thread. A thread works through its own share in
/// chunks and then takes chunks of the others' shares, so one that is late delays nobody: the
/// caller waits for chunks that were begun, never for a thread that has not been given a
/// processor. Equal ranges fall to equal threads as long as nobody is late, which keeps their
/// data in the caches that hold it.
///
/// Threads watch for the next region for a while, first without and then with offers of their
/// processor to others, and sleep after that. Regions follow each other quickly while a network
/// trains, and waking a sleeping thread costs more than a small region does.

#include <cstdint>

#include "core/threads/parallel.h"

namespace flambeau {

/// Calls body on disjoint ranges of about `chunk` items that cover [begin, end), on the calling
/// thread and up to threads - 1 others. False, and nothing done, while another thread's region
/// holds the pool. The first exception is rethrown.
bool run_in_pool(int threads, int64_t begin, int64_t end, int64_t chunk,
                 FunctionRef<void(int64_t, int64_t)> body);

/// Whether the calling thread is one of the pool's, or is running a region.
bool inside_pool();

/// Throws on a thread that works in a region that failed on another one: what it computes is not
/// wanted any more.
void leave_failed_region();

}  // namespace flambeau
