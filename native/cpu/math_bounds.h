#pragma once

#include "core/base/macros.h"

namespace flambeau::cpu {

/// Where functions clamp their argument or result; a NaN passes. Variables defined elsewhere,
/// because a comparison with a number that the compiler knows becomes a mask and a blend, or a
/// branch of the whole formula, instead of one instruction for the maximum.
struct Bounds {
  float low, high;
};
struct WideBounds {
  double low, high;
};
extern FLAMBEAU_API const Bounds kExpBounds;  // e^x is 0 and infinite
extern FLAMBEAU_API const WideBounds kWideExpBounds;
extern FLAMBEAU_API const Bounds kExp2Bounds;     // 2^x is
extern FLAMBEAU_API const Bounds kSigmoidBounds;  // e^x is the smallest normal number, and infinite
extern FLAMBEAU_API const Bounds kTanhBounds;     // the hyperbolic tangent rounds to -1 and 1
extern FLAMBEAU_API const Bounds kErfBounds;      // the error function rounds to -1 and 1
extern FLAMBEAU_API const Bounds kNdtrBounds;     // the normal distribution function is 0 and 1
extern FLAMBEAU_API const Bounds kUnitBounds;     // -1 and 1
extern FLAMBEAU_API const WideBounds kWideExp2Bounds;
extern FLAMBEAU_API const WideBounds kWideTanhBounds;
extern FLAMBEAU_API const Bounds kExpm1Bounds;  // e^x - 1 rounds to -1, and is infinite
extern FLAMBEAU_API const WideBounds kWideExpm1Bounds;
extern FLAMBEAU_API const Bounds kSinhBounds;  // e^x / 2 is infinite
extern FLAMBEAU_API const WideBounds kWideSinhBounds;

}  // namespace flambeau::cpu
