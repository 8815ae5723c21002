// Convolutions with vectors of output channels against plain loops: filters in any order of taps,
// runs of positions of any length, sums that are turned.

#include <cmath>
#include <vector>

#include "check.h"
#include "cpu/nn/conv_lanes.h"
#include "draws.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using testing::between;
using testing::random_values;

/// `taps` of a filter of `kernel` elements, of `outputs` filters that are `row` apart.
struct Filters {
  int64_t outputs, majors, kernel;
  bool outputs_inside;  // as where the gradient of the input reads them
  std::vector<int64_t> taps;
};

template <class T>
void compare(const Filters& given, int64_t longest, bool has_bias) {
  const auto& [outputs, majors, kernel, outputs_inside, taps] = given;
  const int64_t count = static_cast<int64_t>(taps.size()), depth = majors * count;
  std::vector<int64_t> places, offsets;
  std::vector<ConvRun> runs;
  for (int64_t place = 0, i = 0; i < 7; ++i) {
    const int64_t length = between(1, longest);
    for (int64_t j = 0; j < length; ++j) places.push_back(place + j);
    runs.push_back({place, length});
    place += length + between(0, 3);
  }
  for (int64_t p = 0; p < depth; ++p) offsets.push_back(between(0, 40));
  const auto positions = static_cast<int64_t>(places.size());
  // Nothing behind the last element that is read.
  const std::vector<T> source = random_values<T>(places.back() + 41);
  const std::vector<T> filters = random_values<T>(outputs * majors * kernel);
  const int64_t row = outputs_inside ? kernel : majors * kernel;
  const int64_t major = outputs_inside ? outputs * kernel : kernel;
  const std::vector<T> bias = random_values<T>(outputs);
  constexpr int64_t width = kTileColumns<T>;
  std::vector<T> packed(static_cast<size_t>(depth * width), T(std::nan("")));
  std::vector<T> sums(static_cast<size_t>((positions + 1) * width), T(77));
  const int64_t step = positions + 5;
  std::vector<T> result(static_cast<size_t>(outputs * step), T(77));
  for (int64_t k = 0; k < outputs; k += width) {
    const int64_t some = std::min(width, outputs - k);
    pack_lane_weights<T>({filters.data(), outputs, row, majors, major, count, taps.data()},
                         k / width, packed.data());
    forward_lanes<T>({some, depth, positions, packed.data(), offsets.data(), source.data(),
                      runs.data(), sums.data()});
    for (int64_t i = 0; i < width; ++i)
      CHECK(sums[static_cast<size_t>(positions * width + i)] == T(77));
    turn_lanes<T>(sums.data(), positions, some, has_bias ? bias.data() + k : nullptr,
                  result.data() + k * step, step);
  }
  const double rounding = sizeof(T) == 4 ? 1e-6 : 1e-15;
  for (int64_t k = 0; k < outputs; ++k)
    for (int64_t q = 0; q < step; ++q) {
      double expected = has_bias ? static_cast<double>(bias[static_cast<size_t>(k)]) : 0;
      double size = std::abs(expected);
      for (int64_t p = 0; p < depth && q < positions; ++p) {
        const int64_t at = k * row + p / count * major + taps[static_cast<size_t>(p % count)];
        const auto place =
            static_cast<size_t>(places[static_cast<size_t>(q)] + offsets[static_cast<size_t>(p)]);
        const double product = static_cast<double>(source[place]) *
                               static_cast<double>(filters[static_cast<size_t>(at)]);
        expected += product;
        size += std::abs(product);
      }
      if (q >= positions) expected = 77;  // not written
      const auto seen = static_cast<double>(result[static_cast<size_t>(k * step + q)]);
      CHECK(std::abs(seen - expected) <= rounding * size);
    }
}

template <class T>
void compare_all() {
  for (const int64_t outputs : {1, 7, 12, 16, 31, 32, 33, 80})
    for (const int64_t longest : {1, 7, 14, 40}) {
      compare<T>({outputs, 5, 3, false, {0, 1, 2}}, longest, true);
      compare<T>({outputs, 5, 9, true, {8, 7, 6, 5, 4, 3, 2, 1, 0}}, longest, false);
      compare<T>({outputs, 3, 16, true, {15, 13, 7, 5}}, longest, false);
      compare<T>({outputs, 2, 300, false, {299, 0, 150}}, longest, true);
    }
  compare<T>({40, 301, 3, false, {0, 1, 2}}, 14, true);  // several parts of the depth
}

TEST(vectors_of_outputs) {
  compare_all<float>();
  compare_all<double>();
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
