#pragma once

#include <vector>

#include "cpu/nn/conv_geometry.h"

namespace flambeau::cpu {

/// Which elements of a line of pixels each of another meets, through which taps.
struct TapTable {
  struct Meeting {
    int64_t tap, place;
  };
  std::vector<Meeting> meetings;
  std::vector<int64_t> begins;  ///< of each element, and the end
};

/// The elements that each of an axis' windows meets.
inline TapTable windows_of(const ConvAxis& axis) {
  TapTable table{{}, {0}};
  for (int64_t i = 0; i < axis.output; ++i) {
    for (int64_t t = 0; t < axis.kernel; ++t) {
      const int64_t place = i * axis.stride - axis.padding + t * axis.dilation;
      if (place >= 0 && place < axis.input) table.meetings.push_back({t, place});
    }
    table.begins.push_back(static_cast<int64_t>(table.meetings.size()));
  }
  return table;
}

/// The windows that meet each of an axis' elements, from the first on.
inline TapTable windows_over(const ConvAxis& axis) {
  TapTable table{{}, {0}};
  for (int64_t i = 0; i < axis.input; ++i) {
    for (int64_t t = axis.kernel - 1; t >= 0; --t) {
      const int64_t place = i + axis.padding - t * axis.dilation;
      if (place >= 0 && place % axis.stride == 0 && place / axis.stride < axis.output)
        table.meetings.push_back({t, place / axis.stride});
    }
    table.begins.push_back(static_cast<int64_t>(table.meetings.size()));
  }
  return table;
}

}  // namespace flambeau::cpu
