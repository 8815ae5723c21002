#include "operators/profiled.h"

namespace flambeau::forms {

void Profiled::start(const char* name, TrackedList tensors) {
  profiling::Shapes shapes;
  if (profiling::recorded_now() & profiling::kShapes) {
    for (const Tracked& argument : tensors) {
      argument.each([&](const Tensor& tensor) { profiling::add_shape(shapes, tensor); });
    }
  }
  scope_.start(name, profiling::Kind::call, std::move(shapes));
}

}  // namespace flambeau::forms
