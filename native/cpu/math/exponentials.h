#pragma once

/// Exponentials and logarithms of reals.

#include "cpu/elementary/exponentials.h"
#include "cpu/elementary/logarithms.h"
