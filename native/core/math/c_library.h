#pragma once

/// Functions of the C library as a room's own, as numbers.h says: of float and double.

#define FLAMBEAU_C_1(name)                                    \
  FLAMBEAU_SHORT float name(float x) { return ::name##f(x); } \
  FLAMBEAU_DEAR double name(double x) { return ::name(x); }
#define FLAMBEAU_C_2(name)                                                \
  FLAMBEAU_SHORT float name(float a, float b) { return ::name##f(a, b); } \
  FLAMBEAU_DEAR double name(double a, double b) { return ::name(a, b); }
