#include "core/backends/queue.h"

#include <array>
#include <atomic>

#include "core/base/error.h"

namespace flambeau {
namespace {
struct Queue {
  std::atomic<void (*)(Device)> wait;  // set last: who sees it sees the other
  std::atomic<bool (*)(Device)> is_done;
};
std::array<Queue, kMaxBackends> queues{};

Queue& queue_of(Backend backend) { return queues[static_cast<size_t>(backend)]; }
}  // namespace

void register_queue(Backend backend, const QueueFunctions& functions) {
  Queue& queue = queue_of(backend);
  check(!has_queue(backend), ErrorKind::runtime, "register_queue: ", Device{backend, -1},
        " has a queue already");
  queue.is_done = functions.is_done;
  queue.wait = functions.wait;
}

bool has_queue(Backend backend) { return queue_of(backend).wait.load() != nullptr; }

void wait_for_queue(Device device) {
  if (has_queue(device.backend)) queue_of(device.backend).wait.load()(device);
}

bool is_queue_done(Device device) {
  return !has_queue(device.backend) || queue_of(device.backend).is_done.load()(device);
}

}  // namespace flambeau
