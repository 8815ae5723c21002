#pragma once

#include <cmath>
#include <limits>

#include "core/types/half.h"

namespace flambeau {

namespace detail {
inline double next_lower(double value) {
  return std::nextafter(value, -std::numeric_limits<double>::infinity());
}
inline float next_lower(float value) {
  return std::nextafter(value, -std::numeric_limits<float>::infinity());
}
/// The bits of a positive number count up, those of a negative one down.
template <class Half>
inline Half next_lower(Half value) {
  constexpr uint16_t kSign = 0x8000, kSmallestNegative = 0x8001;
  if (value.bits == 0 || value.bits == kSign) {
    value.bits = kSmallestNegative;
  } else {
    value.bits = static_cast<uint16_t>(value.bits & kSign ? value.bits + 1 : value.bits - 1);
  }
  return value;
}
}  // namespace detail

/// The largest number of the floating type T that is less than `bound`.
template <class T>
T largest_below(double bound) {
  T value;
  if constexpr (std::is_same_v<T, double>)
    value = bound;
  else
    value = T(static_cast<float>(bound));
  while (static_cast<double>(value) >= bound) value = detail::next_lower(value);
  return value;
}

}  // namespace flambeau
