#include "cpu/math_bounds.h"

namespace flambeau::cpu {

const Bounds kExpBounds{-104.f, 89.f};
const WideBounds kWideExpBounds{-746., 710.};
const Bounds kExp2Bounds{-151.f, 129.f};
const Bounds kSigmoidBounds{-87.f, 89.f};
const Bounds kTanhBounds{-9.02f, 9.02f};
const Bounds kErfBounds{-3.925f, 3.925f};
const Bounds kNdtrBounds{-14.2f, 15.f};
const Bounds kUnitBounds{-1.f, 1.f};
const WideBounds kWideExp2Bounds{-1076., 1025.};
const WideBounds kWideTanhBounds{-20., 20.};
const Bounds kExpm1Bounds{-18.f, 89.f};
const WideBounds kWideExpm1Bounds{-38., 710.};
const Bounds kSinhBounds{-89.5f, 89.5f};
const WideBounds kWideSinhBounds{-710.6, 710.6};

}  // namespace flambeau::cpu
