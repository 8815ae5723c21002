#pragma once

/// All that generated operators are made of, but for one another. Their units include it first, so
/// that a build can compile it ahead of them.

#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include "autograd/composition.h"
#include "autograd/operator.h"
#include "autograd/saved_list.h"
#include "core/arguments.h"
#include "core/formula_rules.h"
#include "core/generator.h"
#include "core/reduction.h"
#include "core/scalar_math.h"
#include "core/shape_rules.h"
#include "core/views.h"
#include "operators/computing.h"
#include "operators/tangents.h"
