#include "cpu/nn/conv_phases.h"

#include <algorithm>

namespace flambeau::cpu {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

Phase make_phase(const ConvAxis& axis, int64_t phase) {
  Phase result;
  result.first = std::max<int64_t>(ceil_div(axis.padding - phase, axis.stride), 0);
  result.count = floor_div(axis.input - 1 + axis.padding - phase, axis.stride) - result.first + 1;
  for (int64_t r = 0; r < axis.kernel; ++r)
    if ((r * axis.dilation - phase) % axis.stride == 0) {
      result.taps.push_back(r);
      result.shifts.push_back((phase - r * axis.dilation) / axis.stride);
    }
  return result;
}

std::vector<int64_t> reached_phases(const ConvAxis& axis) {
  std::vector<int64_t> phases;
  for (int64_t r = 0; r < axis.kernel; ++r) phases.push_back(r * axis.dilation % axis.stride);
  std::sort(phases.begin(), phases.end());
  phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
  return phases;
}

bool leaves_gaps(const ConvAxis& axis) {
  return static_cast<int64_t>(reached_phases(axis).size()) < axis.stride;
}

int64_t phase_border(const ConvAxis& axis) {
  return ceil_div((axis.kernel - 1) * axis.dilation, axis.stride);
}

}  // namespace flambeau::cpu
