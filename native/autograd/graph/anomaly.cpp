#include "autograd/graph/anomaly.h"

#include <atomic>
#include <cstdio>

namespace flambeau::autograd {

namespace {
std::atomic<bool> enabled{false}, checks_nan{true};
}

std::string (*describe_forward_location)() = nullptr;
void (*show_warning)(const std::string& message) = nullptr;

bool anomaly_enabled() { return enabled.load(std::memory_order_relaxed); }
bool anomaly_checks_nan() { return checks_nan.load(std::memory_order_relaxed); }
void set_anomaly_enabled(bool on, bool check_nan) {
  checks_nan.store(check_nan);
  enabled.store(on);
}

}  // namespace flambeau::autograd
