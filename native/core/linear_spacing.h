#pragma once

#include <cstdint>

#include "core/macros.h"
#include "core/scalar.h"

namespace flambeau {

/// Evenly spaced numbers, counted from the nearer end, so that both ends are exact.
class LinearSpacing {
 public:
  LinearSpacing(const Scalar& start, const Scalar& end, int64_t steps)
      : start_(start.to<double>()),
        end_(end.to<double>()),
        step_(steps > 1 ? (end_ - start_) / static_cast<double>(steps - 1) : 0),
        steps_(steps) {}
  FLAMBEAU_HOST_DEVICE double operator()(int64_t i) const {
    return i < (steps_ + 1) / 2 ? start_ + step_ * static_cast<double>(i)
                                : end_ - step_ * static_cast<double>(steps_ - 1 - i);
  }

 private:
  double start_, end_, step_;
  int64_t steps_;
};

}  // namespace flambeau
