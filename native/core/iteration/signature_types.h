#pragma once

/// The types that generated declarations of functions name.

#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/geometry/arguments.h"
#include "core/random/generator.h"
#include "core/tensor/tensor.h"
