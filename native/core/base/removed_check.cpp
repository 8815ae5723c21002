#ifdef FLAMBEAU_REMOVABLE_CHECKS
#include "core/base/removed_check.h"

#include <cstdlib>
#include <string>
#include <string_view>

namespace flambeau::detail {

namespace {
/// FILE and LINE of the variable; both empty where it is not set.
struct Place {
  std::string file;
  int line = 0;
  Place() {
    const char* text = std::getenv("FLAMBEAU_REMOVED_CHECK");
    const std::string_view place = text ? text : "";
    const size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) return;
    file = place.substr(0, colon);
    line = std::atoi(text + colon + 1);
  }
};
const Place& place() {
  static const Place& removed = *new Place;
  return removed;
}
}  // namespace

const int removed_line = place().line;

bool is_removed_in(const char* file) noexcept {
  return std::string_view(file).ends_with(place().file);
}

}  // namespace flambeau::detail
#endif
