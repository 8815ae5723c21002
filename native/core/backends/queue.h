#pragma once

#include "core/backends/device.h"
#include "core/base/macros.h"

namespace flambeau {

/// How the host learns what a device's queue has done, for a backend whose kernels return before
/// they have run.
struct QueueFunctions {
  void (*wait)(Device device);     ///< until everything called so far has run; throws its errors
  bool (*is_done)(Device device);  ///< whether it has; does not wait
};

/// Once per backend. Of one that registers none, kernels are done when they return.
FLAMBEAU_API void register_queue(Backend backend, const QueueFunctions& functions);
FLAMBEAU_API bool has_queue(Backend backend);
/// Returns at once where there is no queue.
FLAMBEAU_API void wait_for_queue(Device device);
FLAMBEAU_API bool is_queue_done(Device device);

}  // namespace flambeau
