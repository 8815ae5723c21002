#pragma once

/// The passes of Stockham's algorithm over lines that lie side by side, real and imaginary parts
/// apart: element k of line v is at k * lanes + v. A pass reads from one buffer and writes to
/// another, in order, and what stood side by side `s` elements wide stands `radix s` wide.

#include <utility>

#include "core/base/macros.h"
#include "cpu/fft/plan.h"
#include "cpu/fft/square.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

using ::flambeau::cpu::fft::Pass;
using ::flambeau::cpu::fft::Plan;

/// Lines side by side: as many elements as fill 64 bytes.
template <class T>
inline constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
struct Parts {
  T* re;
  T* im;
  Parts at(int64_t i) const { return {re + i, im + i}; }
};

/// A vector of kLanes numbers: loops over arrays of complex numbers are not vectorized.
template <class T>
using Wide = typename RowOf<T>::type;

/// Complex numbers, kLanes of them side by side.
template <class T>
struct Number {
  Wide<T> re, im;
  FLAMBEAU_INLINE friend Number operator+(Number a, Number b) { return {a.re + b.re, a.im + b.im}; }
  FLAMBEAU_INLINE friend Number operator-(Number a, Number b) { return {a.re - b.re, a.im - b.im}; }
  FLAMBEAU_INLINE friend Number operator*(T a, Number b) { return {a * b.re, a * b.im}; }
  /// Times -i.
  FLAMBEAU_INLINE Number back() const { return {im, -re}; }
  /// Times a complex number.
  FLAMBEAU_INLINE Number turned(T c, T d) const { return {re * c - im * d, re * d + im * c}; }
};

/// Transforms of a fixed length, in place.
template <class T>
FLAMBEAU_INLINE void butterfly(Number<T> (&x)[2]) {
  const Number<T> a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}
template <class T>
FLAMBEAU_INLINE void butterfly(Number<T> (&x)[3]) {
  const Number<T> sum = x[1] + x[2];
  const Number<T> turned = T(0.866025403784438646763723170752936183) * (x[1] - x[2]).back();
  const Number<T> middle = x[0] - T(0.5) * sum;
  x[0] = x[0] + sum;
  x[1] = middle + turned;
  x[2] = middle - turned;
}
template <class T>
FLAMBEAU_INLINE void butterfly(Number<T> (&x)[4]) {
  const Number<T> a = x[0] + x[2], b = x[0] - x[2];
  const Number<T> c = x[1] + x[3], d = (x[1] - x[3]).back();
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
}
template <class T>
FLAMBEAU_INLINE void butterfly(Number<T> (&x)[5]) {
  constexpr T kCos1 = T(0.309016994374947424102293417182819059);
  constexpr T kCos2 = T(-0.809016994374947424102293417182819059);
  constexpr T kSin1 = T(0.951056516295153572116439333379382143);
  constexpr T kSin2 = T(0.587785252292473129168705954639072769);
  const Number<T> a = x[1] + x[4], b = x[2] + x[3];
  const Number<T> c = (x[1] - x[4]).back(), d = (x[2] - x[3]).back();
  const Number<T> p = x[0] + kCos1 * a + kCos2 * b, q = x[0] + kCos2 * a + kCos1 * b;
  const Number<T> r = kSin1 * c + kSin2 * d, s = kSin2 * c - kSin1 * d;
  x[0] = x[0] + a + b;
  x[1] = p + r;
  x[2] = q + s;
  x[3] = q - s;
  x[4] = p - r;
}
template <class T>
FLAMBEAU_INLINE void butterfly(Number<T> (&x)[8]) {
  constexpr T kRoot = T(0.707106781186547524400844362104849039);
  Number<T> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  butterfly(even);
  butterfly(odd);
  odd[1] = kRoot * (odd[1] + odd[1].back());
  odd[2] = odd[2].back();
  odd[3] = kRoot * (odd[3].back() - odd[3]);
  for (int k = 0; k < 4; ++k) {
    x[k] = even[k] + odd[k];
    x[k + 4] = even[k] - odd[k];
  }
}

template <class T, int radix>
void pass_of(const Pass<T>& pass, int64_t s, Parts<const T> x, Parts<T> y) {
  const int64_t step = s * pass.count;
  for (int64_t p = 0; p < pass.count; ++p) {
    const T* const turns = pass.twiddles.data() + 2 * p * (radix - 1) - 2;
    for (int64_t q = 0; q < s; q += kLanes<T>) {
      const Parts<const T> from = x.at(s * p + q);
      const Parts<T> to = y.at(s * radix * p + q);
      Number<T> v[radix];
#pragma GCC unroll 8
      for (int k = 0; k < radix; ++k) {
        load(v[k].re, from.re + k * step);
        load(v[k].im, from.im + k * step);
      }
      butterfly(v);
#pragma GCC unroll 8
      for (int k = 0; k < radix; ++k) {
        const Number<T> one = k == 0 ? v[k] : v[k].turned(turns[2 * k], turns[2 * k + 1]);
        store(to.re + k * s, one.re);
        store(to.im + k * s, one.im);
      }
    }
  }
}

/// Of an odd radix, by its definition: sums and differences of what lies symmetrically, weighed
/// with cosines and sines.
template <class T>
void pass_of_any(const Pass<T>& pass, int64_t s, Parts<const T> x, Parts<T> y) {
  constexpr int64_t kWidth = kLanes<T>, kHalf = flambeau::cpu::fft::kLargestPrime / 2;
  const int64_t radix = pass.radix, half = radix / 2, step = s * pass.count;
  T sum_re[kHalf][kWidth], sum_im[kHalf][kWidth], gap_re[kHalf][kWidth], gap_im[kHalf][kWidth];
  for (int64_t p = 0; p < pass.count; ++p) {
    const T* turns = pass.twiddles.data() + 2 * p * (radix - 1) - 2;
    for (int64_t q = 0; q < s; q += kWidth) {
      const Parts<const T> from = x.at(s * p + q);
      const Parts<T> to = y.at(s * radix * p + q);
      const auto store = [&](int64_t k, const T* re, const T* im) {
        const T c = k == 0 ? T(1) : turns[2 * k], d = k == 0 ? T(0) : turns[2 * k + 1];
        for (int64_t v = 0; v < kWidth; ++v) {
          to.re[k * s + v] = re[v] * c - im[v] * d;
          to.im[k * s + v] = re[v] * d + im[v] * c;
        }
      };
      T first_re[kWidth], first_im[kWidth];
      for (int64_t v = 0; v < kWidth; ++v) {
        first_re[v] = from.re[v];
        first_im[v] = from.im[v];
      }
      for (int64_t j = 1; j <= half; ++j) {
        const Parts<const T> a = from.at(j * step), b = from.at((radix - j) * step);
        for (int64_t v = 0; v < kWidth; ++v) {
          sum_re[j - 1][v] = a.re[v] + b.re[v];
          sum_im[j - 1][v] = a.im[v] + b.im[v];
          gap_re[j - 1][v] = a.re[v] - b.re[v];
          gap_im[j - 1][v] = a.im[v] - b.im[v];
          first_re[v] += sum_re[j - 1][v];
          first_im[v] += sum_im[j - 1][v];
        }
      }
      for (int64_t k = 1; k <= half; ++k) {
        T a_re[kWidth], a_im[kWidth], b_re[kWidth] = {}, b_im[kWidth] = {};
        for (int64_t v = 0; v < kWidth; ++v) {
          a_re[v] = from.re[v];
          a_im[v] = from.im[v];
        }
        for (int64_t j = 1; j <= half; ++j) {
          const T c = pass.roots[static_cast<size_t>(2 * (j * k % radix))];
          const T d = pass.roots[static_cast<size_t>(2 * (j * k % radix) + 1)];
          for (int64_t v = 0; v < kWidth; ++v) {
            a_re[v] += c * sum_re[j - 1][v];
            a_im[v] += c * sum_im[j - 1][v];
            b_re[v] -= d * gap_im[j - 1][v];
            b_im[v] += d * gap_re[j - 1][v];
          }
        }
        T re[kWidth], im[kWidth];
        for (int64_t v = 0; v < kWidth; ++v) {
          re[v] = a_re[v] + b_re[v];
          im[v] = a_im[v] + b_im[v];
          a_re[v] -= b_re[v];
          a_im[v] -= b_im[v];
        }
        store(k, re, im);
        store(radix - k, a_re, a_im);
      }
      store(0, first_re, first_im);
    }
  }
}

template <class T>
void run_pass(const Pass<T>& pass, int64_t s, Parts<const T> x, Parts<T> y) {
  switch (pass.radix) {
    case 2:
      return pass_of<T, 2>(pass, s, x, y);
    case 3:
      return pass_of<T, 3>(pass, s, x, y);
    case 4:
      return pass_of<T, 4>(pass, s, x, y);
    case 5:
      return pass_of<T, 5>(pass, s, x, y);
    case 8:
      return pass_of<T, 8>(pass, s, x, y);
    default:
      return pass_of_any<T>(pass, s, x, y);
  }
}

/// Two buffers for kLanes lines of n elements, in this thread's working memory.
template <class T>
class Tile {
 public:
  explicit Tile(int64_t n)
      : size_(n * kLanes<T>), memory_(scratch<T>(0, static_cast<size_t>(4 * size_))) {}
  Parts<T> lines() const { return buffer(current_); }

  /// Forward, unscaled.
  void transform(const Plan<T>& plan) {
    int64_t s = kLanes<T>;
    for (const Pass<T>& pass : plan.passes) {
      const Parts<T> from = buffer(current_);
      run_pass<T>(pass, s, {from.re, from.im}, buffer(1 - current_));
      current_ = 1 - current_;
      s *= pass.radix;
    }
  }

 private:
  Parts<T> buffer(int which) const {
    T* start = memory_ + 2 * which * size_;
    return {start, start + size_};
  }

  int64_t size_;
  int current_ = 0;
  T* memory_;
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
