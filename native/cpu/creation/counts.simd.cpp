#include "cpu/creation/rejection.h"
#include "cpu/math.h"
#include "kernels/draws.h"

#include "core/math/exponentials.h"
#include "core/math/powers.h"
#include "core/math/rounding.h"
#include "core/math/signs.h"
#include "core/math/special.h"

/// Counts of events. Where few are expected, by inversion; else by the transformed rejection of
/// W. Hörmann: "The transformed rejection method for generating Poisson random variables", 1993,
/// and "The generation of binomial random variates", 1993.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr double kFew = 10;

/// The probability that a Poisson variate of this rate is k.
double poisson_probability(double k, double rate) { return math::detail::gamma_prefix(k, rate); }

/// That of k successes among n trials of probability p, q = 1 - p: from Poisson variates of rates
/// np and nq whose sum is known (C. Loader, "Fast and accurate computation of binomial
/// probabilities", 2000).
double binomial_probability(double k, double n, double p, double q) {
  return poisson_probability(k, n * p) * poisson_probability(n - k, n * q) /
         poisson_probability(n, n);
}

/// A step of the transformed rejection: what a pair of uniform numbers proposes.
struct Proposal {
  double k, below, height;  // `below`: the uniform number that decides; `height`: of the hat
  bool is_inside;           // where no comparison is needed
};
struct Hat {
  double a, b, center, inside;
  Proposal propose(RandomSequence& sequence) const {
    const double u = sequence.uniform() - 0.5, v = sequence.uniform(), us = 0.5 - math::abs(u);
    const double k = math::floor((2 * a / us + b) * u + center);
    return {k, v, a / (us * us) + b, us >= 0.07 && v <= inside};
  }
};

double poisson_draw(RandomSequence& sequence, double rate) {
  if (rate < kFew) {
    double rest = sequence.uniform() - math::exp(-rate), probability = math::exp(-rate), k = 0;
    while (rest > 0 && probability > 0) {
      probability *= rate / ++k;
      rest -= probability;
    }
    return k;
  }
  const double b = 0.931 + 2.53 * math::sqrt(rate), a = -0.059 + 0.02483 * b;
  const Hat hat{a, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2)};
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  while (true) {
    const Proposal proposal = hat.propose(sequence);
    if (proposal.is_inside) return proposal.k;
    if (proposal.k < 0) continue;
    const double level = proposal.below * inverse_alpha / proposal.height;
    if (level <= poisson_probability(proposal.k, rate)) return proposal.k;
  }
}

/// Of p <= 1/2.
double successes(RandomSequence& sequence, double n, double p) {
  const double q = 1 - p;
  if (n * p < kFew) {
    double probability = math::exp(n * math::log1p(-p)), k = 0;
    double rest = sequence.uniform() - probability;
    while (rest > 0 && k < n && probability > 0) {
      probability *= (n - k) / (k + 1) * (p / q);
      rest -= probability;
      ++k;
    }
    return k;
  }
  const double deviation = math::sqrt(n * p * q), b = 1.15 + 2.53 * deviation;
  const Hat hat{-0.0873 + 0.0248 * b + 0.01 * p, b, n * p + 0.5, 0.92 - 4.2 / b};
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double highest = binomial_probability(math::floor((n + 1) * p), n, p, q);
  while (true) {
    const Proposal proposal = hat.propose(sequence);
    if (proposal.k < 0 || proposal.k > n) continue;
    if (proposal.is_inside) return proposal.k;
    const double level = proposal.below * alpha / proposal.height * highest;
    if (level <= binomial_probability(proposal.k, n, p, q)) return proposal.k;
  }
}

double binomial_draw(RandomSequence& sequence, double n, double p) {
  n = math::floor(n);
  return p <= 0.5 ? successes(sequence, n, p) : n - successes(sequence, n, 1 - p);
}

}  // namespace

void poisson(const Tensor& result, const Tensor& self, Generator* generator) {
  detail::fill_with_draws(
      result, generator,
      [](RandomSequence& sequence, double rate) {
        check(rate >= 0 && rate < highest<double>(), ErrorKind::runtime,
              "poisson(): rates must be finite and not negative, got ", rate);
        return poisson_draw(sequence, rate);
      },
      self);
}

void draw_successes(const Tensor& result, const Tensor& count, const Tensor& prob,
                    Generator* generator) {
  detail::fill_with_draws(
      result, generator,
      [](RandomSequence& sequence, double n, double p) {
        check(n >= 0 && n < highest<double>(), ErrorKind::runtime,
              "binomial(): counts must be finite and not negative, got ", n);
        check(p >= 0 && p <= 1, ErrorKind::runtime,
              "binomial(): probabilities must lie in [0, 1], got ", p);
        return binomial_draw(sequence, n, p);
      },
      count, prob);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
