#include "core/backends/foreign.h"

#include <atomic>

#include "core/base/error.h"

namespace flambeau {

namespace {
std::atomic<ForeignFinder> foreign_finder = nullptr;
}

void set_foreign_finder(ForeignFinder finder) { foreign_finder = finder; }

ForeignFunction foreign_function(const char* library, const char* name) {
  const ForeignFinder find = foreign_finder;
  check(find != nullptr, ErrorKind::runtime, "nothing here loads ", library, ", whose ", name,
        " is needed: import flambeau from Python first");
  return find(library, name);
}

}  // namespace flambeau
