#include "core/backends/dispatch.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flambeau {

namespace {
/// Tables and kernels register while libraries load, in an order that nobody controls: kernels
/// that come before their table wait for it.
struct KernelRegistry {
  struct Pending {
    Backend backend;
    Kernel kernel;
  };
  std::mutex mutex;
  std::unordered_map<std::string, KernelSlot*> slots;
  std::unordered_map<std::string, std::vector<Pending>> pending;
  std::vector<std::string> mismatches;  ///< what is wrong with kernels that were not taken

  void put(KernelSlot& slot, const Pending& given);
  static KernelRegistry& instance() {
    static KernelRegistry registry;
    return registry;
  }
};
/// The tables of operators from outside the library are called "my_package.softclip".
bool is_of_package(std::string_view op) { return op.find('.') != std::string_view::npos; }

std::string readable(const char* type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(type, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : type;
}

void KernelRegistry::put(KernelSlot& slot, const Pending& given) {
  if (std::strcmp(slot.type, given.kernel.type) == 0) {
    slot.set(given.backend, given.kernel.function);
  } else {
    mismatches.push_back(std::string(slot.op) + ": a kernel is " + readable(given.kernel.type) +
                         ", expected " + readable(slot.type));
  }
}
}  // namespace

KernelSlot::KernelSlot(const char* op_name, const char* type_name, Without otherwise)
    : op(op_name), type(type_name), without(otherwise) {
  KernelRegistry& registry = KernelRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  // The same package may be loaded from two places: kernels that come now are those of the second.
  const auto [slot, is_new] = registry.slots.insert_or_assign(op, this);
  check(is_new || is_of_package(op), ErrorKind::runtime, "operator ", op,
        " has a kernel table already");
  const auto waiting = registry.pending.find(op);
  if (waiting == registry.pending.end()) return;
  for (const auto& given : waiting->second) registry.put(*this, given);
  registry.pending.erase(waiting);
}

void KernelSlot::set(Backend backend, void* kernel) {
  const bool is_shared = backend == kAnyBackend || backend == kOnHost;
  (is_shared ? shared : own[static_cast<int>(backend)]) = kernel;
  shared_on_host |= backend == kOnHost;
  for (int i = 0; i < kMaxBackends; ++i) {
    // Without data nothing is computed: results follow from shape rules, or are errors.
    const bool computes = i != static_cast<int>(Backend::meta);
    kernels[i] = own[i] || !computes ? own[i] : shared;
  }
}

void KernelSlot::missing(Backend backend) const {
  std::string available;
  for (int i = 0; i < kMaxBackends; ++i) {
    if (!own[i]) continue;
    if (!available.empty()) available += ", ";
    available += to_string(Device{static_cast<Backend>(i), -1});
  }
  const Device device{backend, -1};
  fail(ErrorKind::not_implemented, op, ": no kernel for device ", device,
       available.empty() ? "" : "; it has kernels for ", available,
       "; a backend adds one with register_kernel(\"", op,
       "\", backend, kernel), and needs none where the declaration has a 'body'");
}

void register_kernel(std::string_view op, Backend backend, Kernel kernel) {
  KernelRegistry& registry = KernelRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  const std::string key(op);
  const auto slot = registry.slots.find(key);
  if (slot != registry.slots.end()) {
    registry.put(*slot->second, {backend, kernel});
    return;
  }
  registry.pending[key].push_back({backend, kernel});
}

std::vector<KernelState> kernel_states(Backend backend) {
  KernelRegistry& registry = KernelRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  std::vector<KernelState> states;
  for (const auto& [op, slot] : registry.slots) {
    const int i = static_cast<int>(backend);
    const KernelOrigin shared = slot->shared_on_host ? KernelOrigin::host : KernelOrigin::composed;
    const bool is_served = slot->kernels[i] || slot->without == Without::formula;
    states.push_back({op, slot->own[i] ? KernelOrigin::own
                          : is_served  ? shared
                                       : KernelOrigin::missing});
  }
  std::ranges::sort(states, {}, &KernelState::op);
  return states;
}

bool prefer_composition(std::string_view op, Backend backend, bool prefer) {
  KernelRegistry& registry = KernelRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  const auto slot = registry.slots.find(std::string(op));
  if (slot == registry.slots.end() || slot->second->shared_on_host) return false;
  if (!slot->second->shared && slot->second->without == Without::error) return false;
  const int i = static_cast<int>(backend);
  void* const own = slot->second->own[i];
  slot->second->kernels[i] = own && !prefer ? own : slot->second->shared;
  return true;
}

void check_registration(std::string_view package) {
  KernelRegistry& registry = KernelRegistry::instance();
  const std::lock_guard lock(registry.mutex);
  const std::string_view owner = package.empty() ? "flambeau" : package;
  if (!registry.mismatches.empty()) {
    std::string text;
    for (const std::string& each : std::exchange(registry.mismatches, {})) text += "\n  " + each;
    fail(ErrorKind::runtime, owner,
         " registers kernels of other types than their operators':", text);
  }
  const std::string prefix = std::string(package) + ".";
  std::vector<std::string> unknown;
  for (const auto& [op, waiting] : registry.pending)
    if (!is_of_package(op) || op.starts_with(prefix)) unknown.push_back(op);
  if (unknown.empty()) return;
  std::ranges::sort(unknown);
  std::string names;
  for (const std::string& op : unknown) {
    registry.pending.erase(op);
    names += (names.empty() ? "" : ", ") + op;
  }
  fail(ErrorKind::runtime, owner,
       " registers kernels for operators that are not declared: ", names);
}

}  // namespace flambeau
