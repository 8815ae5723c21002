#ifdef FLAMBEAU_REMOVABLE_CHECKS
#include "core/base/removed_check.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace flambeau::detail {

namespace {
struct Place {
  std::string file;
  int line;
};

/// Those of the variable; none where it is not set.
const std::vector<Place>& places() {
  static const std::vector<Place>& removed = *[] {
    auto* found = new std::vector<Place>;
    const char* text = std::getenv("FLAMBEAU_REMOVED_CHECK");
    std::string_view rest = text ? text : "";
    while (!rest.empty()) {
      const std::string_view place = rest.substr(0, rest.find(','));
      const size_t colon = place.rfind(':');
      if (colon != std::string_view::npos) {
        found->push_back({std::string(place.substr(0, colon)),
                          std::atoi(std::string(place.substr(colon + 1)).c_str())});
      }
      rest.remove_prefix(std::min(place.size() + 1, rest.size()));
    }
    return found;
  }();
  return removed;
}

uint64_t lines() {
  uint64_t bits = 0;
  for (const Place& place : places()) bits |= bit_of(place.line);
  return bits;
}
}  // namespace

const uint64_t removed_lines = lines();

bool is_removed_at(const char* file, int line) noexcept {
  for (const Place& place : places()) {
    if (place.line == line && std::string_view(file).ends_with(place.file)) return true;
  }
  return false;
}

}  // namespace flambeau::detail
#endif
