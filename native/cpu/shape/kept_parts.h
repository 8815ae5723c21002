#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/threads/parallel.h"

namespace flambeau::cpu {

/// Parts of many small matrices, zeros elsewhere: the bits of all against one pattern, as rows of a
/// few numbers are too short for a copy each.
template <class T>
class KeptParts {
 public:
  static bool fits(int64_t numbers) {
    return numbers > 0 && numbers * static_cast<int64_t>(sizeof(T)) <= kMostBytes;
  }

  /// Of matrices of so many lines, rows or columns, of so many numbers. keeps(line, place in it):
  /// which numbers stay what they are.
  template <class Keeps>
  KeptParts(int64_t lines, int64_t length, const Keeps& keeps) : matrix_(lines * length * kBytes) {
    const int64_t repeats = kMostBytes / matrix_;
    kept_.resize(static_cast<size_t>(repeats * matrix_));
    for (int64_t r = 0; r < repeats; ++r)
      for (int64_t i = 0; i < lines; ++i)
        for (int64_t j = 0; j < length; ++j) {
          const int64_t at = r * matrix_ + (i * length + j) * kBytes;
          if (keeps(i, j)) std::memset(kept_.data() + at, 0xff, kBytes);
        }
  }

  /// Dense matrices, `count` of them. `to` may be `from`.
  void take(int64_t count, const T* from, T* to) const {
    const auto period = static_cast<int64_t>(kept_.size());
    const int64_t bytes = count * matrix_, grain = kGrainBytes / period;
    const auto* const source = reinterpret_cast<const uint8_t*>(from);
    auto* const target = reinterpret_cast<uint8_t*>(to);
    parallel_for(0, (bytes + period - 1) / period, grain, [&](int64_t begin, int64_t end) {
      const uint8_t* const kept = kept_.data();
      for (int64_t at = begin * period; at < std::min(end * period, bytes); at += period) {
        const uint8_t* const one = source + at;
        uint8_t* const other = target + at;
        const int64_t length = std::min(period, bytes - at);
#pragma omp simd
        for (int64_t i = 0; i < length; ++i) other[i] = static_cast<uint8_t>(one[i] & kept[i]);
      }
    });
  }

 private:
  static constexpr int64_t kBytes = sizeof(T), kMostBytes = 2048, kGrainBytes = int64_t{1} << 17;
  int64_t matrix_;
  std::vector<uint8_t> kept_;  // bits of as many matrices as are few
};

}  // namespace flambeau::cpu
