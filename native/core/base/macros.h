#pragma once

/// Marks what other libraries (the Python extension, a backend, an operator package) may call.
#define FLAMBEAU_API __attribute__((visibility("default")))

/// Scalar code shared by host and device.
#ifdef __CUDACC__
#define FLAMBEAU_HOST_DEVICE __host__ __device__
#else
#define FLAMBEAU_HOST_DEVICE
#endif

#define FLAMBEAU_INLINE inline __attribute__((always_inline))

/// What kernels do with elements, on the device where there is one: a lambda, a member function.
#ifdef __CUDACC__
#define FLAMBEAU_DEVICE __device__
#define FLAMBEAU_ELEMENT __device__ __forceinline__
#else
#define FLAMBEAU_DEVICE __attribute__((always_inline))  // loops that call do not become vectors
#define FLAMBEAU_ELEMENT FLAMBEAU_INLINE
#endif
#define FLAMBEAU_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
#ifndef FLAMBEAU_REMOVABLE_CHECKS
#define FLAMBEAU_UNLIKELY(condition) __builtin_expect(static_cast<bool>(condition), 0)
#else
// In builds for fuzzing, the check in one place can be taken away, to see what finds that out.
#include "core/base/removed_check.h"
#define FLAMBEAU_UNLIKELY(condition) \
  __builtin_expect(                  \
      static_cast<bool>(condition) && !::flambeau::detail::is_removed(__FILE__, __LINE__), 0)
#endif
