#include "operators/taken.h"

#include <utility>

#include "core/base/error.h"

namespace flambeau::forms {

Taker taker = nullptr;

namespace {
thread_local constinit bool unasked = false;
}  // namespace

Unasked::Unasked() : before_(std::exchange(unasked, true)) {}
Unasked::~Unasked() { unasked = before_; }

namespace detail {

bool asks() { return taker && !unasked; }

void expect_results(const char* function, size_t given, size_t expected) {
  check(expected == kAnyNumber || given == expected, ErrorKind::type, function,
        "(): what takes the call over must return ", expected,
        expected == 1 ? " tensor, got " : " tensors, got ", given);
}

const Tensor* Results<const Tensor&>::from(std::vector<Tensor>& found,
                                           std::span<const AnyArgument> given) {
  const Tensor* first = nullptr;
  for (const AnyArgument& argument : given) {
    const auto* const tensor = std::get_if<const Tensor*>(&argument);
    if (!tensor) continue;
    if (!found.empty() && (*tensor)->is_same(found.front())) return *tensor;
    if (!first) first = *tensor;
  }
  check(first != nullptr, ErrorKind::runtime, "a call that was taken over writes into no tensor");
  return first;
}

}  // namespace detail
}  // namespace flambeau::forms
