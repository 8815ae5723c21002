#pragma once

#include <optional>
#include <type_traits>
#include <utility>

namespace flambeau::forms {

/// A value that is computed when it is first read, and not at all where nobody reads it.
template <class Compute>
class Later {
 public:
  explicit Later(Compute compute) : compute_(std::move(compute)) {}

  const auto& operator()() const {
    if (!value_) value_.emplace(compute_());
    return *value_;
  }

 private:
  using Value = std::decay_t<std::invoke_result_t<const Compute&>>;
  Compute compute_;
  mutable std::optional<Value> value_;
};

}  // namespace flambeau::forms
