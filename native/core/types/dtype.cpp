#include "core/types/dtype.h"

#include <algorithm>
#include <atomic>

#include "core/base/error.h"

namespace flambeau {

namespace {
std::atomic<DType> the_default_dtype{DType::float32};

/// The narrowest signed type that holds both integers.
DType promote_integers(DType a, DType b) {
  const bool a_unsigned = category(a) == DTypeCategory::unsigned_integer;
  const bool b_unsigned = category(b) == DTypeCategory::unsigned_integer;
  size_t size = std::max(size_of(a), size_of(b));
  if (a_unsigned == b_unsigned) return size_of(a) >= size_of(b) ? a : b;
  // An unsigned type needs one bit more when signed.
  if (size_of(a_unsigned ? a : b) >= size_of(a_unsigned ? b : a)) size *= 2;
  for (const DType dtype : {DType::int8, DType::int16, DType::int32})
    if (size_of(dtype) >= size) return dtype;
  return DType::int64;
}
}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) > category(b)) std::swap(a, b);
  check(!(is_limited(a) ? !is_floating(b) : is_limited(b)), ErrorKind::runtime,
        "promote_types: ", a, " and ", b, " have no common dtype; convert one of them");
  // From here b's category is the higher one, or they are equal.
  if (is_complex(b)) {
    const DType widened = complex_dtype(is_differentiable(a) ? a : DType::float16);
    return size_of(widened) > size_of(b) ? widened : b;
  }
  if (is_floating(b)) {
    if (!is_floating(a)) return b;
    if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
    return DType::float32;  // float16 with bfloat16: neither holds the other
  }
  if (category(a) == DTypeCategory::boolean) return b;
  return promote_integers(a, b);
}

DType real_dtype(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  if (dtype == DType::complex128) return DType::float64;
  return dtype;
}

DType complex_dtype(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == DType::float64 ? DType::complex128 : DType::complex64;
}

bool can_cast(DType from, DType to) {
  if (is_complex(from)) return is_complex(to);
  if (is_floating(from)) return is_differentiable(to);
  if (is_integral(from)) return to != DType::bool_;
  return true;
}

DType default_dtype() { return the_default_dtype.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype) {
  check(is_floating(dtype), ErrorKind::type,
        "set_default_dtype: argument dtype must be a floating type, got ", dtype);
  the_default_dtype.store(dtype, std::memory_order_relaxed);
}

std::ostream& operator<<(std::ostream& stream, DType dtype) {
  return stream << "flambeau." << name(dtype);
}

}  // namespace flambeau
