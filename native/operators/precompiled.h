#pragma once

/// All that generated operators are made of, but for one another. Their units include it first, so
/// that a build can compile it ahead of them.

#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include "autograd/graph/saved_list.h"
#include "autograd/recording/composition.h"
#include "autograd/recording/operator.h"
#include "core/geometry/arguments.h"
#include "core/geometry/shape_rules.h"
#include "core/iteration/reduction.h"
#include "core/random/generator.h"
#include "core/tensor/formula_rules.h"
#include "core/tensor/transform_rules.h"
#include "core/tensor/views.h"
#include "core/types/scalar_math.h"
#include "operators/autocast.h"
#include "operators/computing.h"
#include "operators/named.h"
#include "operators/profiled.h"
#include "operators/tangents.h"
