#pragma once

/// In builds for fuzzing (FLAMBEAU_REMOVABLE_CHECKS), FLAMBEAU_REMOVED_CHECK=FILE:LINE,... takes
/// checks away: what is left must be found by calls, or the check guards nothing.

#include <cstdint>
#include <source_location>

namespace flambeau::detail {

constexpr uint64_t bit_of(int line) noexcept { return uint64_t{1} << (line & 63); }

/// The bits of all removed lines: most checks are known to stand by this alone.
extern __attribute__((visibility("default"))) const uint64_t removed_lines;
__attribute__((visibility("default"))) bool is_removed_at(const char* file, int line) noexcept;

inline bool is_removed(const char* file, int line) noexcept {
  return (removed_lines & bit_of(line)) != 0 && is_removed_at(file, line);
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
