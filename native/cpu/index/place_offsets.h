#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// out[i] = index[i] * stride, where indices below 0 count from the end of `size` elements; or adds
/// it. False where an index lies outside: what was written then means nothing.
FLAMBEAU_IN_EACH_SET(bool write_offsets(int64_t* out, const int64_t* index, int64_t count,
                                        int64_t size, int64_t stride);
                     bool add_offsets(int64_t* out, const int64_t* index, int64_t count,
                                      int64_t size, int64_t stride);)

}  // namespace flambeau::cpu
