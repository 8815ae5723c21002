#include "cpu/math_bounds.h"

namespace flambeau::cpu {

const Bounds kExpBounds{-104.f, 89.f};
const WideBounds kWideExpBounds{-746., 710.};
const Bounds kExp2Bounds{-151.f, 129.f};
const Bounds kSigmoidBounds{-87.f, 89.f};
const Bounds kTanhBounds{-9.02f, 9.02f};
const Bounds kErfBounds{-3.925f, 3.925f};
const Bounds kNdtrBounds{-15.f, 15.f};
const Bounds kUnitBounds{-1.f, 1.f};

}  // namespace flambeau::cpu
