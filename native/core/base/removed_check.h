#pragma once

/// In builds for fuzzing (FLAMBEAU_REMOVABLE_CHECKS), FLAMBEAU_REMOVED_CHECK=FILE:LINE takes one
/// check away: what is left must be found by calls, or the check guards nothing.

#include <source_location>

namespace flambeau::detail {

/// 0: none is.
extern __attribute__((visibility("default"))) const int removed_line;
__attribute__((visibility("default"))) bool is_removed_in(const char* file) noexcept;

inline bool is_removed(const char* file, int line) noexcept {
  return line == removed_line && is_removed_in(file);
}

/// A condition that knows where it is looked at.
class RemovableCondition {
 public:
  RemovableCondition(bool holds,  // implicit on purpose
                     std::source_location place = std::source_location::current())
      : holds_(holds || is_removed(place.file_name(), static_cast<int>(place.line()))) {}
  operator bool() const { return holds_; }  // implicit on purpose

 private:
  bool holds_;
};

}  // namespace flambeau::detail
