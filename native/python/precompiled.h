#pragma once

/// All that generated bindings are made of, but for the operators. Their units include it first, so
/// that a build can compile it ahead of them.

#include "core/random/generator.h"
#include "python/calls/calls.h"
#include "python/calls/functions.h"
