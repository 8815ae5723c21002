#include "core/memory/shared_lock.h"

#include <pthread.h>

#include <mutex>

#include "core/memory/cpu_allocator.h"

namespace flambeau {

namespace {
std::mutex& mutex() {
  static std::mutex& lock = [&]() -> std::mutex& {
    // Whoever holds this lock may allocate: at a fork it must be taken before the allocator's,
    // and handlers run in the reverse order of their registration.
    CpuAllocator::instance().statistics();
    pthread_atfork([] { mutex().lock(); }, [] { mutex().unlock(); }, [] { mutex().unlock(); });
    return *new std::mutex;  // tensors may die after static destructors ran
  }();
  return lock;
}
}  // namespace

SharedLock::SharedLock() { mutex().lock(); }
SharedLock::~SharedLock() { mutex().unlock(); }

}  // namespace flambeau
