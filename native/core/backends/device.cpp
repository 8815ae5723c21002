#include "core/backends/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>

#include "core/backends/dispatch.h"

namespace flambeau {

namespace {
/// Hardware that programs name to ask whether it is there. Such a device has a place only once one
/// is named, and some places are kept for backends.
constexpr std::array<std::string_view, 5> kElsewhere{"mps", "xpu", "hpu", "mtia", "xla"};
constexpr int kKeptPlaces = 2;

/// Names of backends by index. Names are only ever added, so that readers take no lock (which a
/// fork could leave locked in the child).
struct BackendNames {
  std::mutex mutex;                               // of those who add
  std::array<bool, kMaxBackends> is_elsewhere{};  // was named, and has not registered
  std::array<std::string, kMaxBackends> names{"cpu", "cuda", "meta", "", "", "", "", "sparse_coo"};
  std::atomic<int> count{static_cast<int>(Backend::first_external)};

  static BackendNames& instance() {
    static BackendNames names;
    return names;
  }
  int find(std::string_view name) const {
    for (int i = 0; i < count; ++i)
      if (names[i] == name) return i;
    return -1;
  }
  bool has_room(int kept = 0) const { return count + kept < static_cast<int>(Backend::sparse_coo); }
  int add(std::string_view name) {
    const int index = count.load();
    names[static_cast<size_t>(index)] = name;
    count.store(index + 1);
    return index;
  }
  /// The index of hardware that there is not; -1 if it is unknown, or there is no room.
  int add_elsewhere(std::string_view name) {
    if (std::find(kElsewhere.begin(), kElsewhere.end(), name) == kElsewhere.end()) return -1;
    const std::lock_guard lock(mutex);
    int index = find(name);
    if (index < 0 && has_room(kKeptPlaces)) {
      index = add(name);
      is_elsewhere[static_cast<size_t>(index)] = true;
    }
    return index;
  }
  std::string list() const {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i ? ", " : "") + names[i];
    return text;
  }
};

thread_local Device the_default_device;
}  // namespace

Device default_device() { return the_default_device; }
void set_default_device(Device device) { the_default_device = device; }

Device parse_device(std::string_view text) {
  const size_t colon = text.find(':');
  BackendNames& registry = BackendNames::instance();
  int backend = registry.find(text.substr(0, colon));
  if (backend < 0) backend = registry.add_elsewhere(text.substr(0, colon));
  check(backend >= 0, ErrorKind::runtime, "device: unknown device '", text, "'; expected one of ",
        registry.list(), ", or one of them with an index, as in cuda:0");
  Device device{static_cast<Backend>(backend), -1};
  if (colon == std::string_view::npos) return device;
  const std::string_view digits = text.substr(colon + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool plain =
      !digits.empty() && digits[0] != '-' && (digits[0] != '0' || digits.size() == 1);
  check(plain && error == std::errc() && end == digits.data() + digits.size() && index <= 127,
        ErrorKind::runtime, "device: the index in '", text,
        "' must be a number from 0 to 127 without leading zeros");
  device.index = static_cast<int8_t>(index);
  return device;
}

Backend register_backend(std::string_view name) {
  BackendNames& registry = BackendNames::instance();
  const std::lock_guard lock(registry.mutex);
  check(!name.empty() && name.find(':') == std::string_view::npos, ErrorKind::value,
        "register_backend: a name must not be empty or hold a colon, got '", name, "'");
  const int known = registry.find(name);
  if (known >= 0 && std::exchange(registry.is_elsewhere[static_cast<size_t>(known)], false)) {
    return static_cast<Backend>(known);
  }
  check(known < 0, ErrorKind::runtime, "register_backend: '", name, "' is registered already");
  check(registry.has_room(), ErrorKind::runtime, "register_backend: no room for '", name, "'; ",
        registry.count.load(), " backends are registered: ", registry.list());
  return static_cast<Backend>(registry.add(name));
}

std::string to_string(const Device& device) {
  const BackendNames& registry = BackendNames::instance();
  std::string text = registry.names[static_cast<int>(device.backend)];
  if (device.index >= 0) text += ':' + std::to_string(device.index);
  return text;
}

std::ostream& operator<<(std::ostream& stream, const Device& device) {
  return stream << to_string(device);
}

}  // namespace flambeau
