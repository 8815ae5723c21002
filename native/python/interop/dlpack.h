#pragma once

#include <cstdint>

/// The structures of the DLPack exchange format, version 1.0, as its specification lays them out:
/// names and order of the fields are the interface.
namespace flambeau::python::dlpack {

inline constexpr uint32_t kMajorVersion = 1, kMinorVersion = 0;

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t {
  kInt = 0,
  kUnsigned = 1,
  kFloat = 2,
  kOpaque = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6
};

struct DeviceCode {
  int32_t device_type;
  int32_t device_id;
};
struct TypeDescription {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct Array {
  void* data;
  DeviceCode device;
  int32_t ndim;
  TypeDescription dtype;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null: row-major and dense
  uint64_t byte_offset;
};

/// What a capsule named "dltensor" holds.
struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed* self);
};

struct Version {
  uint32_t major;
  uint32_t minor;
};
inline constexpr uint64_t kReadOnly = 1, kCopied = 2;

/// What a capsule named "dltensor_versioned" holds.
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  uint64_t flags;
  Array array;
};

}  // namespace flambeau::python::dlpack
