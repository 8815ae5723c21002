#include "operators/named.h"

#include "autograd/graph/state.h"

namespace flambeau::forms {
namespace {

bool is_among(const Tensor& tensor, TrackedList arguments) {
  bool found = false;
  for (const Tracked& argument : arguments) {
    argument.each([&](const Tensor& given) { found = found || given.impl() == tensor.impl(); });
  }
  return found;
}

}  // namespace

void name_nodes(TrackedList results, const char* name, TrackedList arguments) {
  for (const Tracked& result : results) {
    result.each([&](const Tensor& tensor) {
      if (!autograd::has_autograd(tensor) || is_among(tensor, arguments)) return;
      if (const auto& node = autograd::history(autograd::state(tensor), tensor)) node->label = name;
    });
  }
}

}  // namespace flambeau::forms
