// What an operator pays for being seen by profiles and modes while there are none, in nanoseconds a
// call: two functions that differ in nothing else, in turns.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "core/profiling/recorder.h"
#include "core/tensor/tensor.h"

using namespace flambeau;

namespace {

[[gnu::noinline]] bool start(profiling::Scope& scope, const char* name) {
  const uint8_t who = profiling::recorded_now();
  if (who & profiling::kCalls) scope.start(name, profiling::Kind::call);
  return (who & profiling::kTaken) != 0;
}

/// An operator that does nothing, with what FLAMBEAU_CALLED is to one.
template <bool is_seen>
[[gnu::noinline]] Tensor handed(const Tensor& self) {
  if constexpr (is_seen) {
    profiling::Scope scope;
    bool may_be_taken = false;
    if (FLAMBEAU_UNLIKELY(profiling::recorded_now() != 0)) may_be_taken = start(scope, "handed");
    if (FLAMBEAU_UNLIKELY(may_be_taken)) return Tensor();
    return self;
  } else {
    return self;
  }
}

template <bool is_seen>
double nanoseconds(const Tensor& x) {
  constexpr int64_t repeat = 2000000;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < repeat; ++i) handed<is_seen>(x);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / static_cast<double>(repeat);
}

}  // namespace

int main() {
  const Tensor x = empty(Shape{5, 5});
  std::array<double, 15> differences;
  for (double& difference : differences) {
    const double unseen = nanoseconds<false>(x);
    difference = nanoseconds<true>(x) - unseen;
  }
  std::sort(differences.begin(), differences.end());
  std::printf("%.2f\n", differences[differences.size() / 2]);
}
