#include "cpu/lapack/secular.h"

#include <algorithm>
#include <cmath>
#include <limits>

// The equation 1 / scale + sum of weights[j]^2 / (poles[j] - x) = 0. Its steps are those of R.-C.
// Li, Solving Secular Equations Stably and Efficiently, 1993 (the "middle way"), inside an interval
// that shrinks. M. Gu and S. Eisenstat, A Stable and Efficient Algorithm for the Rank-One
// Modification of the Symmetric Eigenproblem, 1994: the refined weights.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon() / 2;
constexpr int kMostSteps = 200;  // many more than halving the interval takes

struct Sum {
  double value = 0, slope = 0;
};

/// Of terms [first, last) at origin + shift.
Sum terms(const Secular& call, int64_t first, int64_t last, double origin, double shift) {
  double value = 0, slope = 0;
  const double *const poles = call.poles, *const weights = call.weights;
#pragma omp simd reduction(+ : value, slope)
  for (int64_t j = first; j < last; ++j) {
    const double ratio = weights[j] / ((poles[j] - origin) - shift);
    value += weights[j] * ratio;
    slope += ratio * ratio;
  }
  return {value, slope};
}

/// Where a root is looked for, from an origin on.
struct Bracket {
  double low, high;
  bool holds(double shift) const { return low < shift && shift < high; }
  double middle() const { return low + (high - low) / 2; }
};

/// The next shift, where the equation has value `w` now: the root of c + s / (a - x) + t / (b - x)
/// whose two terms have the values and slopes of the sums up to pole a and from pole b on, or,
/// where that is outside, Newton's, or the middle.
double next_shift(double shift, double w, const Sum& left, const Sum& right, double a, double b,
                  const Bracket& bracket) {
  const double slope = left.slope + right.slope;
  const double c = w - a * left.slope - b * right.slope;
  const double linear = (a + b) * w - a * b * slope, constant = a * b * w;
  const double root = std::sqrt(std::max(linear * linear - 4 * c * constant, 0.0));
  const double q = (linear + std::copysign(root, linear)) / 2;
  for (const double step : {constant / q, q / c, -w / slope})
    if (step * w < 0 && bracket.holds(shift + step)) return shift + step;
  return bracket.middle();
}

void solve_one(const Secular& call, int64_t i) {
  const double* const poles = call.poles;
  const bool is_last = i + 1 == call.count;
  // The poles on both sides of the root, or the last two.
  const int64_t a = is_last ? i - 1 : i, b = a + 1;
  Bracket bracket{0, 0};
  int64_t origin = i;
  if (is_last) {
    double squares = 0;
    for (int64_t j = 0; j < call.count; ++j) squares += call.weights[j] * call.weights[j];
    bracket.high = call.scale * squares * (1 + 8 * static_cast<double>(call.count) * kRounding);
  } else {
    bracket.high = (poles[b] - poles[a]) / 2;
  }
  double shift = is_last ? bracket.middle() : bracket.high;
  double width = bracket.high;
  for (int step = 0; step < kMostSteps; ++step) {
    const Sum left = terms(call, 0, b, poles[origin], shift);
    const Sum right = terms(call, b, call.count, poles[origin], shift);
    const double w = 1 / call.scale + left.value + right.value;
    const double size = 8 * (std::abs(left.value) + std::abs(right.value)) + 1 / call.scale +
                        std::abs(shift) * (left.slope + right.slope);
    if (step == 0 && !is_last && w < 0) {
      // The root is in the right half, which begins at the other pole.
      origin = b;
      bracket = {-bracket.high, 0};
      shift = bracket.low;
    }
    if (std::abs(w) <= kRounding * size) break;
    (w < 0 ? bracket.low : bracket.high) = shift;
    double next = next_shift(shift, w, left, right, (poles[a] - poles[origin]) - shift,
                             (poles[b] - poles[origin]) - shift, bracket);
    if (step % 3 == 2) {
      if (bracket.high - bracket.low > width / 2) next = bracket.middle();
      width = bracket.high - bracket.low;
    }
    if (next == shift || !bracket.holds(next)) break;  // neighbours
    shift = next;
  }
  call.origins[i] = origin;
  call.shifts[i] = shift;
}

void solve(const Secular& call, int64_t first, int64_t last) {
  if (call.count == 1) {
    call.origins[0] = 0;
    call.shifts[0] = call.scale * call.weights[0] * call.weights[0];
    return;
  }
  for (int64_t i = first; i < last; ++i) solve_one(call, i);
}

/// product[j] *= (pole j - eigenvalue i) / (pole j - pole i).
void multiply_ratios(const Secular& call, int64_t i, int64_t first, int64_t last, double* product) {
  const double origin = call.poles[call.origins[i]], shift = call.shifts[i], pole = call.poles[i];
  const double* const poles = call.poles;
#pragma omp simd
  for (int64_t j = first; j < last; ++j)
    product[j] *= ((poles[j] - origin) - shift) / (poles[j] - pole);
}

void refine(const Secular& call, int64_t first, int64_t last, double* refined) {
  for (int64_t j = first; j < last; ++j)
    refined[j] = (call.poles[j] - call.poles[call.origins[j]]) - call.shifts[j];
  for (int64_t i = 0; i < call.count; ++i) {
    multiply_ratios(call, i, first, std::min(i, last), refined);
    multiply_ratios(call, i, std::max(i + 1, first), last, refined);
  }
  for (int64_t j = first; j < last; ++j)
    refined[j] = std::copysign(std::sqrt(std::abs(refined[j])), call.weights[j]);
}

void vector(const Secular& call, int64_t i, const double* refined, double* line) {
  const double origin = call.poles[call.origins[i]], shift = call.shifts[i];
  const double* const poles = call.poles;
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < call.count; ++j) {
    line[j] = refined[j] / ((poles[j] - origin) - shift);
    squares += line[j] * line[j];
  }
  const double factor = 1 / std::sqrt(squares);
#pragma omp simd
  for (int64_t j = 0; j < call.count; ++j) line[j] *= factor;
}

}  // namespace

const SecularKernels& secular_kernels() {
  static constexpr SecularKernels kernels{&solve, &refine, &vector};
  return kernels;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
