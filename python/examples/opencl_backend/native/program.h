#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/random/random.h"
#include "core/types/dtype.h"
#include "core/types/scalar.h"

namespace flambeau::opencl {

/// The values of a kernel's arguments, in order.
class Arguments {
 public:
  /// `counts`: numbers of the formula (N) are int64, as elements are integers; else they are
  /// double, or float where the device has no double.
  explicit Arguments(bool counts = false) : counts_(counts) {}

  void number(const Scalar& value) {
    counts_ ? put(value.to<int64_t>()) : real(value.to<double>());
  }
  void real(double value);
  void integer(int64_t value) { put(value); }
  void flag(bool value) { put(int32_t{value}); }
  void stream(const RandomStream& stream) {
    put(stream.seed);
    put(stream.offset);
  }
  void pointer(const void* address) {
    values_.push_back({true, {}});
    values_.back().bytes.resize(sizeof address);
    std::memcpy(values_.back().bytes.data(), &address, sizeof address);
  }
  /// Any value that is passed by its bytes.
  template <class T>
  void put(const T& value) {
    values_.push_back({false, std::vector<char>(sizeof value)});
    std::memcpy(values_.back().bytes.data(), &value, sizeof value);
  }
  void put_bytes(std::vector<char> bytes) { values_.push_back({false, std::move(bytes)}); }
  void append(const Arguments& other) {
    values_.insert(values_.end(), other.values_.begin(), other.values_.end());
  }

  struct Value {
    bool is_pointer;
    std::vector<char> bytes;
  };
  const std::vector<Value>& values() const { return values_; }
  bool counts() const { return counts_; }

 private:
  bool counts_;
  std::vector<Value> values_;
};

/// How many work-items run at least, in up to three dims; a kernel has nothing to do behind its
/// end.
struct Range {
  size_t x = 1, y = 1, z = 1;
};

/// Enqueues kernel `name` of a source, which is compiled on first use. Error(runtime) with the
/// compiler's log where that fails; Error(not_implemented) where the device takes fewer arguments.
void run(const char* name, const std::string& source, const Arguments& arguments, Range range);

/// What an element is computed in, in OpenCL C; what it is called in load_NAME, store_NAME.
const char* compute_type(DType dtype);
/// `#define T float` and the like for elements of one dtype, then the prelude, and the functions
/// that a source calls.
std::string header(DType dtype, const char* source);

/// Bit i: dtype i.
constexpr uint32_t dtype_mask(std::initializer_list<DType> dtypes) {
  uint32_t mask = 0;
  for (const DType dtype : dtypes) mask |= 1u << static_cast<int>(dtype);
  return mask;
}
/// Error(not_implemented) naming the kernel and the dtype unless the mask has it.
void check_dtype(const char* name, DType dtype, uint32_t accepted);

}  // namespace flambeau::opencl
