#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/macros.h"

namespace flambeau {

/// Index of a backend in every kernel table. The first three are declared in backends.yaml; those
/// from `first_external` on are handed out to backends that register themselves at run time. The
/// last is no place, but where tensors without strided bytes say that they are
/// (core/tensor/sparse.h): it has no memory and no kernels, so that nothing takes them for others.
enum class Backend : uint8_t { cpu = 0, cuda = 1, meta = 2, first_external = 3, sparse_coo = 7 };
inline constexpr int kMaxBackends = 8;

struct Device {
  Backend backend = Backend::cpu;
  int8_t index = -1;  ///< -1: the backend's current device
  friend bool operator==(const Device&, const Device&) = default;
  bool is_cpu() const { return backend == Backend::cpu; }
  bool is_meta() const { return backend == Backend::meta; }
};

/// Parses "cpu", "cuda", "cuda:1", "meta" or a registered backend's name; Error(runtime) otherwise.
FLAMBEAU_API Device parse_device(std::string_view text);
FLAMBEAU_API std::string to_string(const Device& device);
/// Where this thread's tensors are made when no device is named: the CPU, unless changed.
FLAMBEAU_API Device default_device();
FLAMBEAU_API void set_default_device(Device device);
FLAMBEAU_API std::ostream& operator<<(std::ostream& stream, const Device& device);

}  // namespace flambeau
