#pragma once

/// Random numbers of native tests, the same in every run.

#include <cstdint>
#include <random>
#include <vector>

namespace flambeau::testing {

inline std::mt19937 engine(11);

inline int64_t between(int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(engine);
}

template <class T>
std::vector<T> random_values(int64_t count) {
  std::normal_distribution<T> normal;
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(normal(engine));
  return values;
}

}  // namespace flambeau::testing
