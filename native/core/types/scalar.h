#pragma once

#include <cstdint>
#include <ostream>

#include "core/types/dtype.h"

namespace flambeau {

/// A Python number: bool, int, float or complex. Weak in type promotion.
class Scalar {
 public:
  /// natural: an integer above those of int64, as uint64 has them.
  enum class Kind : uint8_t { boolean, integer, natural, floating, complex };
  Scalar() : Scalar(int64_t{0}) {}
  Scalar(bool value) : kind_(Kind::boolean) { value_.integer = value; }
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}
  Scalar(int64_t value) : kind_(Kind::integer) { value_.integer = value; }
  Scalar(uint64_t value) : kind_(value >> 63 ? Kind::natural : Kind::integer) {
    value_.integer = static_cast<int64_t>(value);
  }
  Scalar(float value) : Scalar(static_cast<double>(value)) {}
  Scalar(double value) : kind_(Kind::floating) { value_.floating = value; }
  Scalar(complex<double> value) : kind_(Kind::complex) {
    value_.floating = value.re;
    imaginary_ = value.im;
  }
  Kind kind() const { return kind_; }
  bool is_integral() const { return kind_ <= Kind::natural; }
  bool is_natural() const { return kind_ == Kind::natural; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_floating() const { return kind_ == Kind::floating; }
  bool is_complex() const { return kind_ == Kind::complex; }
  /// Converts as C++ does; a complex value loses its imaginary part when T is real.
  template <class T>
  T to() const;
  /// Whether the value equals `value` exactly (used to drop multiplications by one).
  bool equals(double value) const {
    return imaginary_ == 0 && (is_integral() ? whole<double>() == value : value_.floating == value);
  }
  /// bool, int64, the default float, or the default complex.
  FLAMBEAU_API DType dtype() const;
  /// Whether an element of `dtype` can be the value: integers are cut off, any number is a truth
  /// value, and floating elements take every real number.
  bool fits(DType dtype) const {
    return is_differentiable(dtype) || dtype == DType::bool_ || fits_integers(dtype);
  }
  /// Error(runtime) naming `op` and `argument` if the value does not fit an integral `dtype`.
  FLAMBEAU_API void check_fits(DType dtype, const char* op, const char* argument) const;

 private:
  FLAMBEAU_API bool fits_integers(DType dtype) const;
  /// Of an integer.
  template <class T>
  T whole() const {
    return is_natural() ? static_cast<T>(static_cast<uint64_t>(value_.integer))
                        : static_cast<T>(value_.integer);
  }

  Kind kind_;
  union {
    int64_t integer;
    double floating;
  } value_;
  double imaginary_ = 0;
};

template <class T>
inline T Scalar::to() const {
  if constexpr (std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>) {
    using Real = typename T::value_type;
    if (is_integral()) return T(whole<Real>());
    return T(static_cast<Real>(value_.floating), static_cast<Real>(imaginary_));
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(to<float>());
  } else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(is_integral() ? value_.integer : static_cast<int64_t>(value_.floating));
  } else if constexpr (std::is_same_v<T, bool>) {
    return is_integral() ? whole<T>() : value_.floating != 0 || imaginary_ != 0;
  } else {
    return is_integral() ? whole<T>() : static_cast<T>(value_.floating);
  }
}

FLAMBEAU_API std::ostream& operator<<(std::ostream& stream, const Scalar& value);

}  // namespace flambeau
