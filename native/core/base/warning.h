#pragma once

#include <atomic>
#include <string>

#include "core/base/error.h"
#include "core/base/macros.h"

namespace flambeau {

/// Set by the binding: tells the user what a call most likely does not mean, and throws where the
/// program has made an error of it. Without Python: standard error.
extern FLAMBEAU_API void (*tell_user)(const std::string& message);

/// Warns of what `parts` say, joined. Out of line, as `fail` is.
template <class... Parts>
[[gnu::cold, gnu::noinline]] void warn(const Parts&... parts) {
  tell_user(concatenate(parts...));
}

/// Whether warnings that a program gets once are given each time.
FLAMBEAU_API bool warns_always();
FLAMBEAU_API void set_warn_always(bool always);

/// A warning that a program gets once.
class OnceWarning {
 public:
  bool is_due() const { return !was_given_.load(std::memory_order_relaxed) || warns_always(); }
  template <class... Parts>
  void warn(const Parts&... parts) {
    was_given_.store(true, std::memory_order_relaxed);
    flambeau::warn(parts...);
  }

 private:
  std::atomic<bool> was_given_ = false;
};

}  // namespace flambeau
