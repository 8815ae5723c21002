// Convolutions through copies of patches against plain loops: runs of positions of any length, in
// any place, also where vectors begin before the source and end behind it.

#include <cmath>
#include <vector>

#include "check.h"
#include "cpu/nn/conv_forward.h"
#include "draws.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using testing::between;
using testing::random_values;

/// Runs of 1 to `longest` positions, with gaps; `places` receives where each position lies.
std::vector<ConvRun> random_runs(int64_t longest, int64_t count, std::vector<int64_t>& places) {
  std::vector<ConvRun> runs;
  int64_t place = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = between(1, longest);
    for (int64_t j = 0; j < length; ++j) places.push_back(place + j);
    runs.push_back({place, length});
    place += length + between(0, 3);
  }
  return runs;
}

template <class T>
void compare(int64_t outputs, int64_t majors, int64_t longest, int64_t count, bool dense) {
  std::vector<int64_t> places, taps{0, 1, 2}, offsets;
  const std::vector<ConvRun> runs = random_runs(longest, count, places);
  if (!dense) std::swap(taps[0], taps[2]);
  const int64_t depth = majors * 3, positions = static_cast<int64_t>(places.size());
  for (int64_t p = 0; p < depth; ++p) offsets.push_back(between(0, 40));
  offsets[0] = 0;
  offsets[1] = 40;
  // Nothing before the first element that is read, nor behind the last.
  const std::vector<T> source = random_values<T>(places.back() + 41);
  const std::vector<T> filters = random_values<T>(outputs * depth);
  const int64_t panels = (outputs + kTileRows - 1) / kTileRows;
  std::vector<T> packed(static_cast<size_t>(panels * kTileRows * depth));
  for (int64_t i = 0; i < panels; ++i)
    pack_conv_weights<T>({filters.data(), outputs, depth, majors, 3, 3, taps.data()}, i,
                         packed.data() + i * kTileRows * depth);
  const int64_t step = positions + 5;
  std::vector<T> sums(static_cast<size_t>(outputs * step), T(77));
  forward_packed<T>({outputs, depth, positions, packed.data(), offsets.data(), source.data(),
                     runs.data(), sums.data(), step, between(0, 1) == 1});
  const double rounding = sizeof(T) == 4 ? 1e-6 : 1e-15;
  for (int64_t k = 0; k < outputs; ++k)
    for (int64_t q = 0; q < step; ++q) {
      double expected = 0, size = 0;
      for (int64_t p = 0; p < depth && q < positions; ++p) {
        const double product = static_cast<double>(source[places[q] + offsets[p]]) *
                               static_cast<double>(filters[k * depth + p / 3 * 3 + taps[p % 3]]);
        expected += product;
        size += std::abs(product);
      }
      if (q >= positions) expected = 77;  // not written
      CHECK(std::abs(static_cast<double>(sums[k * step + q]) - expected) <= rounding * size);
    }
}

TEST(patches_of_runs) {
  for (const bool dense : {true, false})
    for (const int64_t longest : {1, 3, 7, 14, 40, 100})
      for (const int64_t outputs : {1, 13, 30}) {
        compare<float>(outputs, 5, longest, 9, dense);
        compare<double>(outputs, 5, longest, 9, dense);
      }
  compare<float>(14, 400, 14, 6, true);  // several parts of the depth
  compare<double>(14, 400, 14, 6, true);
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
