#pragma once

/// Where the scalar functions that formulas call are defined, one set per instruction set, and one
/// for units that are compiled once: before headers of core/math/, whose settings these are. Some
/// forms of float and double, in cpu/math/, vectorise better than the C library's.

#include "core/base/macros.h"
#include "cpu/vector_functions.h"

#ifdef FLAMBEAU_ISA
#define FLAMBEAU_MATH flambeau::cpu::FLAMBEAU_ISA::math
#else
#define FLAMBEAU_MATH flambeau::cpu::math
#endif
#define FLAMBEAU_OWN(family) <cpu/math/family.h>
#define FLAMBEAU_SHORT FLAMBEAU_INLINE
#define FLAMBEAU_DEAR FLAMBEAU_INLINE
#define FLAMBEAU_LONG [[gnu::noinline]] inline
#if defined(__AVX2__)
#define FLAMBEAU_DEFINED \
  _Pragma("omp declare simd notinbranch") [[gnu::const, gnu::noinline]] static inline
#else
#define FLAMBEAU_DEFINED FLAMBEAU_INLINE
#endif

#include "core/math/numbers.h"
