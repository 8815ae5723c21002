#pragma once

#include <array>
#include <mutex>

#include "core/base/macros.h"
#include "core/random/random.h"

namespace flambeau {

/// A counter-based random number generator: a seed and how many counters were handed out so far.
/// Thread-safe. Shared by all backends: what is drawn does not depend on where.
class FLAMBEAU_API Generator {
 public:
  explicit Generator(uint64_t seed = kDefaultSeed) : seed_(seed) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Hands out `counters` counters: reserve(counters_for(numel)).
  RandomStream reserve(uint64_t counters);
  void manual_seed(uint64_t seed);
  /// Seeds from the operating system's entropy and returns the seed.
  uint64_t seed();
  uint64_t initial_seed() const;

  /// Seed and offset, little-endian: all that there is.
  static constexpr size_t kStateBytes = 16;
  using State = std::array<uint8_t, kStateBytes>;
  State state() const;
  void set_state(const State& state);

  static constexpr uint64_t kDefaultSeed = 0x5EED0F1A3BEA0001u;

 private:
  mutable std::mutex mutex_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

/// The generator of operators that are given none. Seeded from entropy at start.
FLAMBEAU_API Generator& default_generator();

/// An argument declared `Generator?`.
inline Generator& generator_or_default(Generator* generator) {
  return generator ? *generator : default_generator();
}

}  // namespace flambeau
