#pragma once

#include "operators/forms.h"

namespace flambeau::forms {

/// Calls the nodes of results by `name`, but for those of arguments that are handed through.
FLAMBEAU_API void name_nodes(TrackedList results, const char* name, TrackedList arguments);

/// What an operator that is made of others gives: in the graph it is called as if it were one.
/// Null: the last of them keeps its name.
template <class Result, class... Args>
FLAMBEAU_INLINE Result named(Result results, const char* name, const Args&... arguments) {
  std::apply(
      [&](const auto&... each) {
        if (name && (autograd::has_autograd(each) || ...)) {
          name_nodes(tracked(each...), name, tracked(arguments...));
        }
      },
      detail::each(results));
  return results;
}

}  // namespace flambeau::forms
