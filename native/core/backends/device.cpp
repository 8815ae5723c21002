#include "core/backends/device.h"

#include <array>
#include <atomic>
#include <charconv>
#include <mutex>

#include "core/backends/dispatch.h"

namespace flambeau {

namespace {
/// Names of backends by index. Names are only ever added, so that readers take no lock (which a
/// fork could leave locked in the child).
struct BackendNames {
  std::mutex mutex;  // of those who add
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
  const BackendNames& registry = BackendNames::instance();
  const int backend = registry.find(text.substr(0, colon));
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
  check(registry.find(name) < 0, ErrorKind::runtime, "register_backend: '", name,
        "' is registered already");
  constexpr int room = static_cast<int>(Backend::sparse_coo);
  check(registry.count < room, ErrorKind::runtime, "register_backend: no room for '", name, "'; ",
        room, " backends are registered: ", registry.list());
  const int index = registry.count.load();
  registry.names[static_cast<size_t>(index)] = name;
  registry.count.store(index + 1);
  return static_cast<Backend>(index);
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
