#pragma once

/// The scalar functions that generated formulas call, for device code: those of core/math/, whose
/// settings these are. Dear functions on double are calls, not inlined: formulas over them are
/// bound by arithmetic, and compile in a fraction of the time. Most functions serve the host too,
/// where formulas compute their constants.

#include <cuda_runtime.h>

#include "core/types/element_types.h"

#define FLAMBEAU_MATH flambeau::cuda::math
#define FLAMBEAU_OWN(family) <cuda/math/family.cuh>
#define FLAMBEAU_SHORT __host__ __device__ __forceinline__
#define FLAMBEAU_DEAR __host__ __device__ __noinline__ inline
#define FLAMBEAU_DEFINED FLAMBEAU_SHORT
#define FLAMBEAU_LONG __host__ __device__ __noinline__ inline

#include "core/math/c_library.h"
#include "core/math/numbers.h"
