#include "core/memory/memory_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace flambeau {

namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

/// The number in a file; where there is no file or no number ("max"), no limit.
size_t limit_in(const std::string& path) {
  std::ifstream file(path);
  size_t bytes;
  return file >> bytes ? bytes : kUnlimited;
}

/// The least limit of a control group and those around it. A container sees its own group at the
/// root, whatever its path says.
size_t least_limit(const std::string& root, std::string group, const char* file) {
  size_t least = limit_in(root + "/" + file);
  while (group.size() > 1 && group.front() == '/') {
    least = std::min(least, limit_in(root + group + "/" + file));
    group.resize(group.find_last_of('/'));
  }
  return least;
}

/// /proc/self/cgroup has lines NUMBER:CONTROLLERS:PATH; version 2 is number 0, without controllers.
size_t control_group_memory() {
  std::ifstream groups("/proc/self/cgroup");
  size_t least = kUnlimited;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_limit("/sys/fs/cgroup", group, "memory.max"));
    } else if (controllers == "memory") {
      const char* const file = "memory.limit_in_bytes";
      least = std::min(least, least_limit("/sys/fs/cgroup/memory", group, file));
    }
  }
  return least;
}

}  // namespace

size_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  const size_t installed = pages > 0 && page > 0
                               ? static_cast<size_t>(pages) * static_cast<size_t>(page)
                               : size_t{4} << 30;
  return std::min(installed, control_group_memory());
}

size_t address_space() noexcept {
  rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : kUnlimited;
}

}  // namespace flambeau
