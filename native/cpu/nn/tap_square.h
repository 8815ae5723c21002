#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "cpu/nn/correlation.h"

namespace flambeau::cpu {

/// The taps of a correlation that are a full square.
struct TapSquare {
  int64_t side;
  int64_t corner[2], apart[2];  ///< of rows and of columns, in elements of the padded image
  std::vector<int64_t> taps;    ///< of the weights, in row-major order
};

/// None where they are not.
inline std::optional<TapSquare> find_square(const Correlation<float>& task) {
  const auto count = static_cast<int64_t>(task.tap_rows.size());
  int64_t side = 2;
  while (side * side < count) ++side;
  if (side * side != count) return std::nullopt;
  TapSquare square{side, {}, {}, std::vector<int64_t>(task.tap_rows.size(), -1)};
  const std::vector<int64_t>* const offsets[] = {&task.tap_rows, &task.tap_columns};
  for (int i = 0; i < 2; ++i) {
    const auto [least, most] = std::minmax_element(offsets[i]->begin(), offsets[i]->end());
    square.corner[i] = *least;
    square.apart[i] = (*most - *least) / (side - 1);
    if (square.apart[i] == 0) return std::nullopt;
  }
  for (size_t t = 0; t < task.tap_rows.size(); ++t) {
    int64_t place[2];
    for (int i = 0; i < 2; ++i) {
      const int64_t offset = (*offsets[i])[t] - square.corner[i];
      place[i] = offset / square.apart[i];
      if (offset % square.apart[i] != 0 || place[i] >= side) return std::nullopt;
    }
    square.taps[static_cast<size_t>(place[0] * side + place[1])] = task.weights.taps[t];
  }
  if (std::ranges::find(square.taps, -1) != square.taps.end()) return std::nullopt;
  return square;
}

}  // namespace flambeau::cpu
