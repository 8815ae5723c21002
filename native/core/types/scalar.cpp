#include "core/types/scalar.h"

#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace flambeau {

DType Scalar::dtype() const {
  switch (kind_) {
    case Kind::boolean:
      return DType::bool_;
    case Kind::integer:
    case Kind::natural:
      return DType::int64;
    case Kind::floating:
      return default_dtype();
    case Kind::complex:
      return complex_dtype(default_dtype());
  }
  __builtin_unreachable();
}

namespace {
struct IntegerRange {
  int64_t lowest, highest;
};
IntegerRange range_of(DType dtype) {
  if (dtype == DType::bool_) return {0, 1};
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  // A negative number counts from above, as in C and in PyTorch.
  if (is_unsigned(dtype) && bits < 64)
    return {-((int64_t{1} << bits) - 1), (int64_t{1} << bits) - 1};
  if (bits == 64) return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}
}  // namespace

bool Scalar::fits_integers(DType dtype) const {
  const auto [lowest, highest] = range_of(dtype);
  if (is_natural()) return dtype == DType::uint64;
  if (is_integral()) return value_.integer >= lowest && value_.integer <= highest;
  const double truncated = std::trunc(value_.floating);
  // Only an integer counts from above.
  // 2^63 as a double is one above the highest int64: hence the strict comparison.
  return imaginary_ == 0 && truncated >= static_cast<double>(is_unsigned(dtype) ? 0 : lowest) &&
         truncated < static_cast<double>(highest) + 1;
}

void Scalar::check_fits(DType dtype, const char* op, const char* argument) const {
  if (imaginary_ != 0 && !flambeau::is_complex(dtype) && dtype != DType::bool_) {
    fail(ErrorKind::runtime, op, ": argument ", argument, " = ", *this,
         " has an imaginary part, which ", dtype, " has no room for");
  }
  if (fits(dtype)) return;
  const auto [lowest, highest] = range_of(dtype);
  fail(ErrorKind::runtime, op, ": argument ", argument, " = ", *this, " does not fit ", dtype,
       ", which holds ", lowest, " to ", highest);
}

std::ostream& operator<<(std::ostream& stream, const Scalar& value) {
  switch (value.kind()) {
    case Scalar::Kind::boolean:
      return stream << (value.to<int64_t>() ? "True" : "False");
    case Scalar::Kind::integer:
      return stream << value.to<int64_t>();
    case Scalar::Kind::natural:
      return stream << value.to<uint64_t>();
    case Scalar::Kind::floating:
      return stream << value.to<double>();
    case Scalar::Kind::complex: {
      const auto number = value.to<complex<double>>();
      return stream << '(' << number.re << (std::signbit(number.im) ? "" : "+") << number.im
                    << "j)";
    }
  }
  return stream;
}

}  // namespace flambeau
