#pragma once

#include <vector>

#include "autograd/graph/operations.h"
#include "operators/tracked.h"

/// Mixed precision: while autocast is on for a device, operators take floating-point arguments
/// there in the dtype that their entry's `autocast` names. Off, it costs the test of one byte.
namespace flambeau::autocast {

enum class Policy : uint8_t {
  none,
  lower,    ///< in the dtype of autocast, bfloat16 or float16
  float32,  ///< in float32
  widest,   ///< in the widest dtype among the arguments
};
/// What an entry says: of tensors in the host's memory, and of those on any other device.
struct Policies {
  Policy cpu, others;
};

/// Settings of this thread. A bit for each backend whose autocast is on.
extern FLAMBEAU_API FLAMBEAU_FAST_TLS thread_local constinit uint8_t enabled_backends;
inline bool is_on() { return enabled_backends != 0; }
FLAMBEAU_API bool is_enabled(Backend backend);
FLAMBEAU_API void set_enabled(Backend backend, bool enabled);
FLAMBEAU_API DType dtype(Backend backend);
FLAMBEAU_API void set_dtype(Backend backend, DType dtype);

/// Whether leaves that are cast to the lower dtype, weights mostly, stay cast for further calls,
/// until the outermost scope of this thread ends.
FLAMBEAU_API bool is_cache_enabled();
FLAMBEAU_API void set_cache_enabled(bool enabled);
FLAMBEAU_API void clear_cache();
/// How many scopes this thread is in, after the change by one.
FLAMBEAU_API int64_t enter_scope();
FLAMBEAU_API int64_t leave_scope();

/// An operand in another dtype: owned, where the operand itself borrows.
struct Converted {
  Tensor tensor;  ///< undefined of a number
  Scalar scalar;
  operator Operand() const { return tensor.defined() ? Operand(tensor) : Operand(scalar); }
};

/// One call of an operator with a policy. True where it applies: autocast is off then while the
/// region lives, and what is asked for an argument is that argument in the dtype to compute in.
class Region {
 public:
  FLAMBEAU_API Region(Policies policies, forms::TrackedList arguments);
  FLAMBEAU_API ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  explicit operator bool() const { return policy_ != Policy::none; }
  FLAMBEAU_API Tensor operator()(const Tensor& argument) const;
  FLAMBEAU_API std::vector<Tensor> operator()(TensorList arguments) const;
  /// A number stays one.
  Converted operator()(const Operand& argument) const {
    if (argument.is_tensor()) return {(*this)(argument.tensor()), {}};
    return {{}, argument.scalar()};
  }

 private:
  bool is_eligible(const Tensor& argument) const;
  uint8_t before_;
  Policy policy_ = Policy::none;
  Backend backend_ = Backend::cpu;
  DType target_ = DType::float32;
};

}  // namespace flambeau::autocast
