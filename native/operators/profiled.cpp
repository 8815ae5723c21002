#include "operators/profiled.h"

namespace flambeau::forms {

void Profiled::start(const char* name, TrackedList tensors) {
  const uint8_t who = profiling::recorded_now();
  may_be_taken_ = (who & profiling::kTaken) != 0;
  if (!(who & profiling::kCalls)) return;
  profiling::Shapes shapes;
  if (who & profiling::kShapes) {
    for (const Tracked& argument : tensors) {
      argument.each([&](const Tensor& tensor) { profiling::add_shape(shapes, tensor); });
    }
  }
  scope_.start(name, profiling::Kind::call, std::move(shapes));
}

}  // namespace flambeau::forms
