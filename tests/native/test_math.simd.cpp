/// Accuracy of the functions of core/math over the whole range of floats, against the C library in
/// a wider type, and their values at the edges. Compiled once per instruction set.

#include <cinttypes>
#include <complex>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "core/types/half.h"
#include "cpu/math.h"

#include "core/math/bits.h"
#include "core/math/complex.h"
#include "core/math/error_functions.h"
#include "core/math/extrema.h"
#include "core/math/rounding.h"
#include "core/math/special.h"
#include "functions/ndtr.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int kBlock = 4096;

/// Distance in units of the last place of the correctly rounded float.
double ulps(float value, double expected) {
  const float rounded = static_cast<float>(expected);
  if (rounded != rounded) return value != value ? 0 : 1e9;
  if (value != value) return 1e9;
  if (std::isinf(rounded) || std::isinf(value)) return value == rounded ? 0 : 1e9;
  const float magnitude = std::fabs(rounded);
  const double unit = static_cast<double>(std::nextafter(magnitude, INFINITY)) - magnitude;
  return std::fabs(value - expected) / unit;
}
double ulps(double value, long double expected) {
  const double rounded = static_cast<double>(expected);
  if (rounded != rounded) return value != value ? 0 : 1e9;
  if (value != value) return 1e9;
  if (std::isinf(rounded) || std::isinf(value)) return value == rounded ? 0 : 1e9;
  const double magnitude = std::fabs(rounded);
  const double unit = std::nextafter(magnitude, static_cast<double>(INFINITY)) - magnitude;
  return static_cast<double>(std::fabs(value - expected)) / unit;
}

/// Out of line, so that the loop is compiled as a hot one and vectorises.
template <class T, class F>
[[gnu::noinline]] void apply(F f, const T* x, T* y) {
#pragma omp simd
  for (int i = 0; i < kBlock; ++i) y[i] = f(x[i]);
}

template <class T>
struct Worst {
  double ulps = 0;
  T at = 0, value = 0;
  int64_t wrong = 0;  // infinite or NaN in one of both only
};

template <class T, class Wide, class F>
Worst<T> sweep(F f, Wide (*reference)(Wide)) {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Worst<T> worst;
  T x[kBlock], y[kBlock];
  const U step = sizeof(T) == 4 ? U{2053} : static_cast<U>(0x0008000000100001ull);
  U bits = 0;
  const int64_t samples = (sizeof(T) == 4 ? (1ull << 32) / 2053 : 8192ull * 16) / kBlock;
  for (int64_t block = 0; block < samples; ++block) {
    for (int i = 0; i < kBlock; ++i, bits += step) x[i] = std::bit_cast<T>(bits);
    if (block == 0) {
      const T special[] = {T(0), T(-0.0), INFINITY, -INFINITY, NAN, 1, -1, T(0.5), T(-0.5), 2, -2};
      std::copy(std::begin(special), std::end(special), x);
    } else if (block % 2 == 1) {
      // Half of the samples where functions are not constant.
      for (int i = 0; i < kBlock; ++i)
        x[i] = static_cast<T>((block * kBlock + i) % 1000003) / T(1000003) *
               T(block % 3 ? 4 : 200) * (i % 2 ? 1 : -1);
    }
    apply(f, x, y);
    for (int i = 0; i < kBlock; ++i) {
      const double error = ulps(y[i], reference(x[i]));
      if (error >= 1e9) {
        if (++worst.wrong <= 3)
          std::printf("    f(%.9g) = %.9g, expected %.9g\n", double(x[i]), double(y[i]),
                      double(reference(x[i])));
      } else if (error > worst.ulps) {
        worst = {error, x[i], y[i], worst.wrong};
      }
    }
  }
  return worst;
}

template <class T, class Wide, class F>
void expect_ulps(const char* name, double limit, F f, Wide (*reference)(Wide)) {
  const Worst<T> worst = sweep<T>(f, reference);
  const bool good = worst.ulps <= limit && worst.wrong == 0;
  std::printf("  %s %-8s %s %.2f ulp at %.9g (%.9g)\n", good ? " " : "!", name,
              sizeof(T) == 4 ? "float " : "double", worst.ulps, double(worst.at),
              double(worst.value));
  CHECK(good);
}

#define ACCURATE(name, float_limit, double_limit)                  \
  expect_ulps<float, double>(                                      \
      #name, float_limit, [](float x) { return math::name(x); },   \
      +[](double x) { return std::name(x); });                     \
  expect_ulps<double, long double>(                                \
      #name, double_limit, [](double x) { return math::name(x); }, \
      +[](long double x) { return std::name(x); });

TEST(accuracy) {
  ACCURATE(exp, 1.5, 4)
  ACCURATE(exp2, 1.5, 4)
  ACCURATE(expm1, 4, 4)
  ACCURATE(log, 4, 4)
  ACCURATE(log2, 4, 4)
  ACCURATE(log10, 4, 4)
  ACCURATE(log1p, 4, 4)
  ACCURATE(sqrt, 0.51, 0.51)
  ACCURATE(sin, 4, 4)
  ACCURATE(cos, 4, 4)
  ACCURATE(tan, 4, 4)
  ACCURATE(asin, 4, 4)
  ACCURATE(acos, 4, 4)
  ACCURATE(atan, 4, 4)
  ACCURATE(sinh, 4, 4)
  ACCURATE(cosh, 4, 4)
  ACCURATE(tanh, 4, 4)
  ACCURATE(asinh, 4, 4)
  ACCURATE(acosh, 4, 4)
  ACCURATE(atanh, 4, 4)
  ACCURATE(erf, 6.2, 4)
  ACCURATE(erfc, 4, 4)
  ACCURATE(floor, 0, 0)
  ACCURATE(ceil, 0, 0)
  ACCURATE(trunc, 0, 0)
  expect_ulps<float, double>(
      "ndtr", 4, [](float x) { return math::ndtr(x); },
      +[](double x) { return 0.5 * std::erfc(x * -0.70710678118654752); });
  expect_ulps<double, long double>(
      "ndtr", 8, [](double x) { return math::ndtr(x); },
      +[](long double x) { return 0.5L * std::erfc(x * -0.70710678118654752440L); });
}

// --- powers and hypotenuses: pairs ---

template <class T>
std::vector<T> pairs_of(std::mt19937_64& random, int count) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  using Limits = std::numeric_limits<T>;
  const T edges[] = {0,
                     T(-0.0),
                     1,
                     -1,
                     T(0.5),
                     2,
                     -2,
                     3,
                     -3,
                     NAN,
                     T(1.5),
                     T(1e10),
                     INFINITY,
                     -INFINITY,
                     1023,
                     -1074,
                     Limits::max(),
                     -Limits::max(),
                     Limits::min(),
                     Limits::denorm_min(),
                     -Limits::denorm_min()};
  std::vector<T> pairs;
  for (const T a : edges)
    for (const T b : edges) pairs.insert(pairs.end(), {a, b});
  std::uniform_real_distribution<double> uniform(-1, 1);
  while (pairs.size() < 2 * static_cast<size_t>(count)) {
    const double log = uniform(random) * (sizeof(T) == 4 ? 87 : 700);
    const T positive = static_cast<T>(std::exp(log));
    pairs.insert(pairs.end(), {static_cast<T>(10 * uniform(random)),
                               static_cast<T>(std::rint(30 * uniform(random)))});
    pairs.insert(pairs.end(), {positive, static_cast<T>(750 * uniform(random) / log)});
    pairs.insert(pairs.end(), {positive, static_cast<T>(-positive * uniform(random))});
    pairs.insert(pairs.end(), {std::bit_cast<T>(static_cast<Bits>(random())),
                               std::bit_cast<T>(static_cast<Bits>(random()))});
  }
  return pairs;
}

/// Of the first numbers and the second ones, in a loop that becomes one of vectors.
template <class T, class Wide, class F>
void expect_of_pairs(const char* name, double limit, F f, Wide (*reference)(Wide, Wide)) {
  constexpr int kPairs = 1 << 17;
  std::mt19937_64 random(11);
  const std::vector<T> pairs = pairs_of<T>(random, kPairs);
  std::vector<T> found(kPairs);
  const T* in = pairs.data();
  T* out = found.data();
#pragma omp simd
  for (int i = 0; i < kPairs; ++i) out[i] = f(in[2 * i], in[2 * i + 1]);
  double worst = 0;
  for (int i = 0; i < kPairs; ++i) {
    const Wide exact = reference(in[2 * i], in[2 * i + 1]);
    double error = ulps(out[i], exact);
    if (exact == exact && std::signbit(out[i]) != std::signbit(exact)) error = 1e9;
    if (error > limit)
      std::printf("    %s(%a, %a) = %a, expected %a\n", name, double(in[2 * i]),
                  double(in[2 * i + 1]), double(out[i]), double(exact));
    worst = std::max(worst, error);
  }
  std::printf("    %-8s %s %.2f ulp\n", name, sizeof(T) == 4 ? "float " : "double", worst);
  CHECK(worst <= limit);
}
#define ACCURATE_OF_PAIRS(name, limit)                                   \
  expect_of_pairs<float, double>(                                        \
      #name, limit, [](float a, float b) { return math::name(a, b); },   \
      +[](double a, double b) { return std::name(a, b); });              \
  expect_of_pairs<double, long double>(                                  \
      #name, limit, [](double a, double b) { return math::name(a, b); }, \
      +[](long double a, long double b) { return std::name(a, b); });

TEST(pairs){ACCURATE_OF_PAIRS(pow, 1.5) ACCURATE_OF_PAIRS(hypot, 1.5)}

// --- waves of huge doubles ---

/// Multiples of pi / 2 and what lies beside them, up to the largest doubles: where the reduction
/// loses most. The first is the double that is closest to one (J.-M. Muller, Elementary Functions,
/// 11.3.2), whose cosine is -4.687165924254624e-19.
TEST(waves_beside_their_zeros) {
  std::vector<double> near{std::ldexp(6381956970095103., 797)};
  std::mt19937_64 random(5);
  for (int i = 0; i < 8 * kBlock - 1; ++i) {
    const int exponent = static_cast<int>(random() % 1023);
    const long double turns =
        std::rint(std::ldexp(1 + 0x1p-64L * static_cast<long double>(random()), exponent));
    near.push_back(static_cast<double>(turns * 1.5707963267948966192313216916397514L));
  }
  std::vector<double> waves[3] = {near, near, near};
  for (size_t i = 0; i < near.size(); i += kBlock) {
    apply([](double x) { return math::sin(x); }, &near[i], &waves[0][i]);
    apply([](double x) { return math::cos(x); }, &near[i], &waves[1][i]);
    apply([](double x) { return math::tan(x); }, &near[i], &waves[2][i]);
  }
  double worst[3] = {};
  for (size_t i = 0; i < near.size(); ++i) {
    const long double x = near[i], exact[] = {std::sin(x), std::cos(x), std::tan(x)};
    for (int k = 0; k < 3; ++k) worst[k] = std::max(worst[k], ulps(waves[k][i], exact[k]));
  }
  std::printf("    sin, cos, tan beside their zeros: %.2f, %.2f, %.2f ulp\n", worst[0], worst[1],
              worst[2]);
#ifdef FLAMBEAU_LANES_OF  // elsewhere they are the C library's, up to 8 ulp beside zeros
  CHECK(worst[0] <= 2 && worst[1] <= 2 && worst[2] <= 4);
  CHECK(std::fabs(waves[1][0] / -4.68716592425462761112e-19 - 1) < 4e-16);
#endif
}

// --- complex numbers: against the C library in a wider type, and at the edges in the same one ---

template <class T>
using Standard = std::complex<T>;
using Wide = Standard<long double>;

/// Distance from the exact value in units of the last place of its modulus; 0 where that is out of
/// range.
template <class T>
double complex_ulps(complex<T> value, Wide exact) {
  const long double modulus = std::abs(exact), epsilon = std::numeric_limits<T>::epsilon();
  if (!(modulus < std::numeric_limits<T>::max() &&
        modulus > std::numeric_limits<T>::min() / epsilon))
    return 0;
  return static_cast<double>(std::abs(Wide(value.re, value.im) - exact) / modulus / epsilon);
}

template <class T, class F, class G>
void expect_complex_ulps(const char* name, F f, G reference) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  constexpr double kScales[] = {1e-6, 0.01, 1, 1, 3, 10, 50, 1000};
  double worst = 0;
  complex<T> at;
  for (int i = 0; i < 20000; ++i) {
    const T re = static_cast<T>(i % 11 == 0 ? 0 : uniform(random) * kScales[random() % 8]);
    const T im = static_cast<T>(i % 7 == 0 ? 0 : uniform(random) * kScales[random() % 8]);
    const double error = complex_ulps<T>(f(complex<T>(re, im)), reference(Wide(re, im)));
    if (!(error <= worst)) worst = error, at = complex<T>(re, im);
  }
  const bool good = worst <= 3.5;
  std::printf("  %s %-6s complex %s %.2f ulp at (%.9g, %.9g)\n", good ? " " : "!", name,
              sizeof(T) == 4 ? "float " : "double", worst, double(at.re), double(at.im));
  CHECK(good);
}

/// Signs are open beside a NaN and where both parts of the argument are infinite. Subnormal numbers
/// may lose their digits.
template <class T>
bool same_part(T value, T expected, bool is_sign_open) {
  if (expected != expected) return value != value;
  if (is_sign_open) return std::fabs(value) == std::fabs(expected);
  if (value == expected) return std::signbit(value) == std::signbit(expected);
  using Limits = std::numeric_limits<T>;
  return std::fabs(value - expected) <=
         std::max(4 * Limits::epsilon() * std::fabs(expected), Limits::min());
}

template <class T, class F, class G>
void expect_complex_edges(const char* name, F f, G reference) {
  using Limits = std::numeric_limits<T>;
  const T edges[] = {0,
                     T(-0.0),
                     1,
                     -1,
                     T(0.5),
                     2,
                     -2,
                     Limits::max(),
                     -Limits::max(),
                     Limits::min(),
                     Limits::denorm_min(),
                     INFINITY,
                     -INFINITY,
                     NAN};
  for (const T re : edges) {
    for (const T im : edges) {
      const complex<T> value = f(complex<T>(re, im));
      const Standard<T> expected = reference(Standard<T>(re, im));
      const bool is_open = std::isinf(re) && std::isinf(im);
      const bool good =
          same_part(value.re, expected.real(), is_open || std::isnan(expected.imag())) &&
          same_part(value.im, expected.imag(), is_open || std::isnan(expected.real()));
      if (!good) {
        std::printf("  ! %s(%g, %g) = (%g, %g), expected (%g, %g)\n", name, double(re), double(im),
                    double(value.re), double(value.im), double(expected.real()),
                    double(expected.imag()));
      }
      CHECK(good);
    }
  }
}

template <class T, class F, class G>
void expect_complex(const char* name, F f, G reference) {
  expect_complex_ulps<T>(name, f, reference);
  expect_complex_edges<T>(name, f, reference);
}
#define COMPLEX(name)                                                                              \
  expect_complex<float>(                                                                           \
      #name, [](complex<float> x) { return math::name(x); }, [](auto x) { return std::name(x); }); \
  expect_complex<double>(                                                                          \
      #name, [](complex<double> x) { return math::name(x); },                                      \
      [](auto x) { return std::name(x); });

TEST(complex_numbers) {
  COMPLEX(exp)
  COMPLEX(log)
  COMPLEX(log10)
  COMPLEX(sqrt)
  COMPLEX(sin)
  COMPLEX(cos)
  COMPLEX(tan)
  COMPLEX(asin)
  COMPLEX(acos)
  COMPLEX(atan)
  COMPLEX(sinh)
  COMPLEX(cosh)
  COMPLEX(tanh)
  COMPLEX(asinh)
  COMPLEX(acosh)
  COMPLEX(atanh)
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
