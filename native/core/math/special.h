#pragma once

/// Gamma functions and polynomials.

#include "core/math/gamma.h"
#include "core/math/gamma_slope.h"
#include "core/math/incomplete_gamma.h"
#include "core/math/polynomials.h"
