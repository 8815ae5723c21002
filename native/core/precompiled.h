#pragma once

/// What most of the library's units include. A release build compiles it ahead of them and gives it
/// to each; they include all that they need themselves, and other builds do without.

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/views.h"
