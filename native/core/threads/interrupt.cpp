#include "core/threads/interrupt.h"

#include "core/threads/thread_pool.h"

namespace flambeau {

void (*stop_if_asked)() = nullptr;

namespace detail {

thread_local constinit uint64_t next_look = 0;

void look_for_interrupt() {
  next_look = ticks() + ticks_per_second() / 16;
  leave_failed_region();
  if (stop_if_asked) stop_if_asked();
}

}  // namespace detail
}  // namespace flambeau
