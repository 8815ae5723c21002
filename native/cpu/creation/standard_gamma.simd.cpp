#include "cpu/creation/rejection.h"
#include "cpu/math.h"
#include "kernels/draws.h"

#include "core/math/exponentials.h"
#include "core/math/powers.h"
#include "core/math/trigonometry.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Box-Muller, one of the two.
double normal(RandomSequence& sequence) {
  const double radius = math::sqrt(-2 * math::log(sequence.uniform()));
  return radius * math::cos(6.283185307179586 * sequence.uniform());
}

/// log of a gamma variate with shape a >= 1: G. Marsaglia, W. W. Tsang, "A simple method for
/// generating gamma variables", ACM TOMS 26, 2000.
double log_gamma_above_one(RandomSequence& sequence, double a) {
  const double d = a - 1. / 3, c = 1 / math::sqrt(9 * d);
  while (true) {
    const double x = normal(sequence), root = 1 + c * x;
    if (root <= 0) continue;
    const double log_v = 3 * math::log(root), v = root * root * root;
    if (math::log(sequence.uniform()) < 0.5 * x * x + d * (1 - v + log_v))
      return math::log(d) + log_v;
  }
}

/// For a < 1 one of shape a + 1 times a uniform number to the power 1 / a (the same paper), whose
/// logarithm does not underflow.
double log_gamma_draw(RandomSequence& sequence, double a) {
  if (a != a || a == highest<double>()) return a;
  if (a == 0) return -highest<double>();
  if (a >= 1) return log_gamma_above_one(sequence, a);
  const double log_power = math::log(sequence.uniform()) / a;
  return log_gamma_above_one(sequence, a + 1) + log_power;
}

}  // namespace

void standard_gamma(const Tensor& result, const Tensor& self, bool log, Generator* generator) {
  detail::fill_with_draws(
      result, generator,
      [log](RandomSequence& sequence, double a) {
        check(!(a < 0), ErrorKind::runtime, "standard_gamma(): shapes must not be negative, got ",
              a);
        const double drawn = log_gamma_draw(sequence, a);
        return log ? drawn : math::exp(drawn);
      },
      self);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
