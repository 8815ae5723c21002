#pragma once

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

}  // namespace flambeau
