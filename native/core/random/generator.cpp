#include "core/random/generator.h"

#include <random>

namespace flambeau {
namespace {

uint64_t entropy() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

void put(uint8_t* bytes, uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get(const uint8_t* bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

}  // namespace

RandomStream Generator::reserve(uint64_t counters) {
  const std::lock_guard lock(mutex_);
  const RandomStream stream{seed_, offset_};
  offset_ += counters;
  return stream;
}

void Generator::manual_seed(uint64_t seed) {
  const std::lock_guard lock(mutex_);
  seed_ = seed;
  offset_ = 0;
}

uint64_t Generator::seed() {
  const uint64_t value = entropy();
  manual_seed(value);
  return value;
}

uint64_t Generator::initial_seed() const {
  const std::lock_guard lock(mutex_);
  return seed_;
}

Generator::State Generator::state() const {
  const std::lock_guard lock(mutex_);
  State state;
  put(state.data(), seed_);
  put(state.data() + 8, offset_);
  return state;
}

void Generator::set_state(const State& state) {
  const std::lock_guard lock(mutex_);
  seed_ = get(state.data());
  offset_ = get(state.data() + 8);
}

Generator& default_generator() {
  static Generator generator(entropy());
  return generator;
}

}  // namespace flambeau
