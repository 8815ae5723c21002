#pragma once

#include <utility>

#include "core/base/error.h"

namespace flambeau {

/// Address space that nothing uses, to be given back where memory has run out amid what must not
/// fail, as the collection of garbage.
class FLAMBEAU_API Reserve {
 public:
  /// body(), and once more with the reserve given back if it threw OutOfMemory; then it throws.
  template <class Body>
  static void run(const Body& body) {
    try {
      body();
    } catch (const OutOfMemory&) {
      give_back();
      body();
      take();
    }
  }

 private:
  static void take() noexcept;
  static void give_back() noexcept;
};

}  // namespace flambeau
