#pragma once

#include <string>

#include "core/base/macros.h"

/// Anomaly mode: backward names the forward call of a node that fails or makes NaN.
namespace flambeau::autograd {

FLAMBEAU_API bool anomaly_enabled();
FLAMBEAU_API bool anomaly_checks_nan();
FLAMBEAU_API void set_anomaly_enabled(bool enabled, bool check_nan = true);
/// Set by the binding: describes the current Python line.
extern FLAMBEAU_API std::string (*describe_forward_location)();
/// Set by the binding: shows a warning (anomaly mode); null: standard error.
extern FLAMBEAU_API void (*show_warning)(const std::string& message);

}  // namespace flambeau::autograd
