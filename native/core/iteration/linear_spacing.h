#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/macros.h"
#include "core/types/element_types.h"
#include "core/types/scalar.h"

namespace flambeau {

/// What the places of elements of type T are computed in.
template <class T>
using PlaceOf =
    std::conditional_t<std::is_same_v<NumberOf<T>, complex<double>>, complex<double>, double>;

/// Evenly spaced numbers, counted from the nearer end, so that both ends are exact. Of an integral
/// dtype, the fractions of both ends are dropped first.
template <class Number>
class LinearSpacing {
 public:
  LinearSpacing(const Scalar& start, const Scalar& end, int64_t steps, DType dtype)
      : start_(bound(start, dtype)),
        end_(bound(end, dtype)),
        step_(steps > 1 ? (end_ - start_) / static_cast<double>(steps - 1) : Number(0)),
        steps_(steps) {}
  FLAMBEAU_HOST_DEVICE Number operator()(int64_t i) const {
    return i < (steps_ + 1) / 2 ? start_ + step_ * static_cast<double>(i)
                                : end_ - step_ * static_cast<double>(steps_ - 1 - i);
  }

 private:
  static Number bound(const Scalar& value, DType dtype) {
    return is_integral(dtype) ? Number(static_cast<double>(value.to<int64_t>()))
                              : value.to<Number>();
  }

  Number start_, end_, step_;
  int64_t steps_;
};

}  // namespace flambeau
