#pragma once

#include "core/backends/device.h"

namespace flambeau::opencl {

/// The index that "opencl" is registered under.
Backend backend();

}  // namespace flambeau::opencl
