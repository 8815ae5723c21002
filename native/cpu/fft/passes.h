#pragma once

/// The passes of Stockham's algorithm over lines that lie side by side, real and imaginary parts
/// apart: element k of line v is at k * lanes + v. A pass reads from one buffer and writes to
/// another, in order, and what stood side by side `s` elements wide stands `radix s` wide.

#include <algorithm>
#include <utility>

#include "core/base/macros.h"
#include "cpu/fft/plan.h"
#include "cpu/linalg/scratch.h"
#include "cpu/linalg/vector.h"

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

template <class T>
Parts<T> swapped_if(bool swapped, Parts<T> parts) {
  return swapped ? Parts<T>{parts.im, parts.re} : parts;
}

/// Numbers of a vector register, of which a tile's lines fill one or more.
template <class T>
inline constexpr int64_t kVector = FLAMBEAU_ISA::kLanes<T>;

/// Complex numbers, kVector of them side by side.
template <class T>
struct Number {
  Vector<T> re, im;
  FLAMBEAU_INLINE friend Number operator+(Number a, Number b) { return {a.re + b.re, a.im + b.im}; }
  FLAMBEAU_INLINE friend Number operator-(Number a, Number b) { return {a.re - b.re, a.im - b.im}; }
  FLAMBEAU_INLINE friend Number operator*(T a, Number b) { return {a * b.re, a * b.im}; }
  /// Times -i.
  FLAMBEAU_INLINE Number back() const { return {im, -re}; }
  /// Times complex numbers.
  FLAMBEAU_INLINE Number turned(Vector<T> right, Vector<T> up) const {
    return {multiply_add<T>(re, right, -(im * up)), multiply_add<T>(re, up, im * right)};
  }
  /// Times one.
  FLAMBEAU_INLINE Number turned(T c, T d) const { return turned(splat(c), splat(d)); }
};

template <class T>
FLAMBEAU_INLINE void load_number(Number<T>& number, Parts<const T> from) {
  number = {FLAMBEAU_ISA::load(from.re), FLAMBEAU_ISA::load(from.im)};
}
template <class T>
FLAMBEAU_INLINE void store_number(Parts<T> to, const Number<T>& number) {
  FLAMBEAU_ISA::store(to.re, number.re);
  FLAMBEAU_ISA::store(to.im, number.im);
}

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

template <class T>
FLAMBEAU_INLINE void butterfly(Number<T> (&x)[16]) {
  constexpr T kCos = T(0.923879532511286756128183189396788287);
  constexpr T kSin = T(0.382683432365089771728459984030398867);
  constexpr T kRoot = T(0.707106781186547524400844362104849039);
  Number<T> v[4][4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) v[i][j] = x[i + 4 * j];
    butterfly(v[i]);
  }
  v[1][1] = v[1][1].turned(kCos, -kSin);
  v[1][2] = kRoot * (v[1][2] + v[1][2].back());
  v[1][3] = v[1][3].turned(kSin, -kCos);
  v[2][1] = kRoot * (v[2][1] + v[2][1].back());
  v[2][2] = v[2][2].back();
  v[2][3] = kRoot * (v[2][3].back() - v[2][3]);
  v[3][1] = v[3][1].turned(kSin, -kCos);
  v[3][2] = kRoot * (v[3][2].back() - v[3][2]);
  v[3][3] = v[3][3].turned(-kCos, kSin);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    Number<T> w[4] = {v[0][k], v[1][k], v[2][k], v[3][k]};
    butterfly(w);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) x[k + 4 * j] = w[j];
  }
}

/// One transform, whose element k load(number, k) reads, each result but the first times its
/// factor of `turns`; they are all 1 where there are none.
template <class T, int radix, bool has_turns, class Load>
FLAMBEAU_INLINE void transform_loaded(const Load& load, Parts<T> to, int64_t to_step,
                                      const T* turns) {
  Number<T> v[radix];
#pragma GCC unroll 16
  for (int k = 0; k < radix; ++k) load(v[k], k);
  butterfly(v);
  store_number(to, v[0]);
#pragma GCC unroll 16
  for (int k = 1; k < radix; ++k) {
    if constexpr (has_turns) v[k] = v[k].turned(turns[2 * k - 2], turns[2 * k - 1]);
    store_number(to.at(k * to_step), v[k]);
  }
}

/// The same of elements that lie `from_step` apart.
template <class T, int radix, bool has_turns>
FLAMBEAU_INLINE void transform_one(Parts<const T> from, int64_t from_step, Parts<T> to,
                                   int64_t to_step, const T* turns) {
  transform_loaded<T, radix, has_turns>(
      [&](Number<T> & number, int k)
          __attribute__((always_inline)) { load_number(number, from.at(k * from_step)); },
      to, to_step, turns);
}

/// Transforms [begin, end) of a pass, the first elements of which are x[0], x[s] and so on.
template <class T, int radix>
void transform_some(const Pass<T>& pass, int64_t s, int64_t begin, int64_t end, Parts<const T> x,
                    int64_t step, Parts<T> y) {
  for (int64_t p = begin; p < end; ++p) {
    const T* const turns = pass.twiddles.data() + 2 * p * (radix - 1);
    for (int64_t q = 0; q < s; q += kVector<T>)
      transform_one<T, radix, true>(x.at(s * (p - begin) + q), step, y.at(s * radix * p + q), s,
                                    turns);
  }
}

/// Of the last pass, numbers [0, count) of the results of each k, which lie `to_step` apart.
template <class T, int radix>
void transform_last(int64_t count, Parts<const T> x, int64_t step, Parts<T> y, int64_t to_step) {
  for (int64_t q = 0; q < count; q += kVector<T>)
    transform_one<T, radix, false>(x.at(q), step, y.at(q), to_step, nullptr);
}

template <class T, int radix>
void pass_of(const Pass<T>& pass, int64_t s, Parts<const T> x, Parts<T> y) {
  if (pass.count == 1) return transform_last<T, radix>(s, x, s, y, s);
  transform_some<T, radix>(pass, s, 0, pass.count, x, s * pass.count, y);
}

/// Of an odd radix, by its definition: sums and differences of what lies symmetrically, weighed
/// with cosines and sines. Two results, and their mirrors, at once.
template <class T>
void pass_of_any(const Pass<T>& pass, int64_t s, Parts<const T> x, Parts<T> y) {
  constexpr int64_t kHalf = flambeau::cpu::fft::kLargestPrime / 2;
  const int64_t radix = pass.radix, half = radix / 2, step = s * pass.count;
  const T* const roots = pass.roots.data();
  Number<T> sums[kHalf], gaps[kHalf];
  for (int64_t p = 0; p < pass.count; ++p) {
    const T* const turns = pass.twiddles.data() + 2 * p * (radix - 1) - 2;
    for (int64_t q = 0; q < s; q += kVector<T>) {
      const Parts<const T> from = x.at(s * p + q);
      const Parts<T> to = y.at(s * radix * p + q);
      Number<T> first;
      load_number(first, from);
      Number<T> total = first;
      for (int64_t j = 1; j <= half; ++j) {
        Number<T> a, b;
        load_number(a, from.at(j * step));
        load_number(b, from.at((radix - j) * step));
        sums[j - 1] = a + b;
        gaps[j - 1] = (a - b).back();
        total = total + sums[j - 1];
      }
      store_number(to, total);
      for (int64_t begin = 1; begin <= half; begin += 2) {
        const int64_t k[2] = {begin, std::min(begin + 1, half)};
        Number<T> even[2] = {first, first}, odd[2] = {};
        int64_t at[2] = {};
        for (int64_t j = 0; j < half; ++j) {
#pragma GCC unroll 2
          for (int i = 0; i < 2; ++i) {
            at[i] += k[i];
            at[i] -= at[i] >= radix ? radix : 0;
            const Vector<T> c = splat(roots[2 * at[i]]), d = splat(-roots[2 * at[i] + 1]);
            even[i].re = multiply_add<T>(c, sums[j].re, even[i].re);
            even[i].im = multiply_add<T>(c, sums[j].im, even[i].im);
            odd[i].re = multiply_add<T>(d, gaps[j].re, odd[i].re);
            odd[i].im = multiply_add<T>(d, gaps[j].im, odd[i].im);
          }
        }
        for (int i = 0; i < 2; ++i) {
          const T* const turn = turns + 2 * k[i];
          const T* const other = turns + 2 * (radix - k[i]);
          store_number(to.at(k[i] * s), (even[i] + odd[i]).turned(turn[0], turn[1]));
          store_number(to.at((radix - k[i]) * s), (even[i] - odd[i]).turned(other[0], other[1]));
        }
      }
    }
  }
}

inline constexpr int kLargestFormula = 16;

/// Calls function.operator()<radix>() where the radix has a formula of its own; else false.
template <class Function>
bool with_radix(int64_t radix, const Function& function) {
  switch (radix) {
    case 2:
      return function.template operator()<2>(), true;
    case 3:
      return function.template operator()<3>(), true;
    case 4:
      return function.template operator()<4>(), true;
    case 5:
      return function.template operator()<5>(), true;
    case 8:
      return function.template operator()<8>(), true;
    case 16:
      return function.template operator()<16>(), true;
    default:
      return false;
  }
}

template <class T>
void run_pass(const Pass<T>& pass, int64_t s, Parts<const T> x, Parts<T> y) {
  if (!with_radix(pass.radix, [&]<int radix>() { pass_of<T, radix>(pass, s, x, y); }))
    pass_of_any<T>(pass, s, x, y);
}

/// Two buffers for kLanes lines of up to n elements, in this thread's working memory.
template <class T>
class Tile {
 public:
  explicit Tile(int64_t n)
      : size_((n + kApart) * kLanes<T>), memory_(scratch<T>(0, static_cast<size_t>(4 * size_))) {}
  Parts<T> lines() const { return buffer(current_); }

  /// Where the next step goes, which work() says from lines to lines.
  template <class Work>
  void step(const Work& work) {
    const Parts<T> from = buffer(current_);
    work(Parts<const T>{from.re, from.im}, buffer(1 - current_));
    current_ = 1 - current_;
  }

  /// Forward, unscaled: passes [begin, end) of the plan's.
  void transform(const Plan<T>& plan, size_t begin, size_t end) {
    int64_t s = kLanes<T>;
    for (size_t i = 0; i < end; ++i) {
      const Pass<T>& pass = plan.passes[i];
      if (i >= begin)
        step([&](Parts<const T> from, Parts<T> to) { run_pass<T>(pass, s, from, to); });
      s *= pass.radix;
    }
  }

 private:
  /// Rows between parts, so that a pass that strides through powers of two finds what it reads and
  /// writes at once in different sets of the caches.
  static constexpr int64_t kApart = 5;

  Parts<T> buffer(int which) const {
    T* start = memory_ + 2 * which * size_;
    return {start, start + size_};
  }

  int64_t size_;
  int current_ = 0;
  T* memory_;
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
