#pragma once

#include <cstdint>

#include "core/backends/instruction_set.h"

namespace flambeau::cpu {

/// to += factor * from, of dense rows of float or double.
FLAMBEAU_IN_EACH_SET(template <class T>
                     void add_row(T* to, const T* from, T factor, int64_t count);)

}  // namespace flambeau::cpu
