#pragma once

/// A number of each of as many matrices as a register has lanes. Include only from *.simd.cpp
/// files.

#include <algorithm>
#include <cmath>

#include "cpu/lapack/routines.h"
#include "cpu/linalg/vector.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

using lapack::kIsComplex;
using lapack::Real;

/// As many matrices as fill a register with the real parts.
template <class E>
inline constexpr int64_t kMatrices = kLanes<Real<E>>;

/// Complex numbers: their parts lie apart.
template <class T>
struct Complexes {
  Vector<T> re, im;

  friend Complexes operator-(Complexes a) { return {-a.re, -a.im}; }
  friend Complexes operator+(Complexes a, Complexes b) { return {a.re + b.re, a.im + b.im}; }
  friend Complexes operator-(Complexes a, Complexes b) { return {a.re - b.re, a.im - b.im}; }
  friend Complexes operator*(Complexes a, Complexes b) {
    return {multiply_add<T>(a.re, b.re, -(a.im * b.im)), multiply_add<T>(a.re, b.im, a.im * b.re)};
  }
  friend Complexes operator*(Vector<T> a, Complexes b) { return {a * b.re, a * b.im}; }
};
template <class E>
struct NumbersOf {
  using type = Vector<E>;
};
template <class T>
struct NumbersOf<complex<T>> {
  using type = Complexes<T>;
};
template <class E>
using Numbers = typename NumbersOf<E>::type;

template <class T>
Vector<T> conjugate(Vector<T> x) {
  return x;
}
template <class T>
Complexes<T> conjugate(Complexes<T> x) {
  return {x.re, -x.im};
}

/// Of elements whose parts lie apart: see `separate`.
template <class E>
Numbers<E> read(const E* from) {
  if constexpr (kIsComplex<E>) {
    const auto* const parts = reinterpret_cast<const Real<E>*>(from);
    return {load(parts), load(parts + kMatrices<E>)};
  } else {
    return load(from);
  }
}
template <class E>
void write(E* to, Numbers<E> x) {
  if constexpr (kIsComplex<E>) {
    auto* const parts = reinterpret_cast<Real<E>*>(to);
    store(parts, x.re);
    store(parts + kMatrices<E>, x.im);
  } else {
    store(to, x);
  }
}

/// Which numbers of two registers, one behind the other, a third one gets: place(lane).
template <class T, class Place>
[[gnu::always_inline]] inline Vector<T> pick(Vector<T> low, Vector<T> high, const Place& place) {
  typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type places;
  for (int l = 0; l < kLanes<T>; ++l) places[l] = place(l);
  return __builtin_shuffle(low, high, places);
}

/// Of so many elements of all matrices, the real parts of each before its imaginary parts; `join`
/// undoes that. Real numbers stay where they are.
template <class E>
void separate(int64_t count, E* elements) {
  if constexpr (kIsComplex<E>) {
    using T = Real<E>;
    T* parts = reinterpret_cast<T*>(elements);
    for (int64_t i = 0; i < count; ++i, parts += 2 * kLanes<T>) {
      const Vector<T> low = load(parts), high = load(parts + kLanes<T>);
      store(parts, pick<T>(low, high, [](int l) { return 2 * l; }));
      store(parts + kLanes<T>, pick<T>(low, high, [](int l) { return 2 * l + 1; }));
    }
  }
}
template <class E>
void join(int64_t count, E* elements) {
  if constexpr (kIsComplex<E>) {
    using T = Real<E>;
    constexpr int lanes = kLanes<T>;
    T* parts = reinterpret_cast<T*>(elements);
    for (int64_t i = 0; i < count; ++i, parts += 2 * lanes) {
      const Vector<T> re = load(parts), im = load(parts + lanes);
      store(parts, pick<T>(re, im, [](int l) { return l / 2 + l % 2 * lanes; }));
      store(parts + lanes, pick<T>(re, im, [](int l) { return (l + lanes) / 2 + l % 2 * lanes; }));
    }
  }
}

template <class T>
Vector<T> greater(Vector<T> a, Vector<T> b) {
  return a > b ? a : b;
}
template <class T>
Vector<T> root(Vector<T> x) {
  for (int l = 0; l < kLanes<T>; ++l) x[l] = std::sqrt(x[l]);
  return x;
}
template <class T>
Vector<T> magnitude(Vector<T> x) {
  return x < T(0) ? -x : x;
}
/// Neither overflows nor vanishes before its time.
template <class T>
Vector<T> magnitude(Complexes<T> x) {
  const Vector<T> re = magnitude<T>(x.re), im = magnitude<T>(x.im);
  const Vector<T> larger = greater<T>(re, im), smaller = re > im ? im : re;
  const Vector<T> ratio = larger == T(0) ? larger : smaller / larger;
  return larger * root<T>(multiply_add<T>(ratio, ratio, splat(T(1))));
}
/// What pivots are chosen by: the magnitude, or for complex numbers the sum of those of their
/// parts.
template <class T>
Vector<T> sum_of_parts(Vector<T> x) {
  return magnitude<T>(x);
}
template <class T>
Vector<T> sum_of_parts(Complexes<T> x) {
  return magnitude<T>(x.re) + magnitude<T>(x.im);
}
template <class T>
Vector<T> real_part(Vector<T> x) {
  return x;
}
template <class T>
Vector<T> real_part(Complexes<T> x) {
  return x.re;
}
template <class T>
Vector<T> imaginary_part(Vector<T>) {
  return Vector<T>{};
}
template <class T>
Vector<T> imaginary_part(Complexes<T> x) {
  return x.im;
}
template <class E>
Numbers<E> number(Vector<Real<E>> x) {
  if constexpr (kIsComplex<E>)
    return {x, Vector<Real<E>>{}};
  else
    return x;
}
template <class E>
Numbers<E> same(E x) {
  if constexpr (kIsComplex<E>)
    return {splat(x.re), splat(x.im)};
  else
    return splat(x);
}
template <class T, class Body>
void for_parts(Vector<T> x, const Body& body) {
  body(x);
}
template <class T, class Body>
void for_parts(Complexes<T> x, const Body& body) {
  body(x.re);
  body(x.im);
}
template <class T, class Choice>
Vector<T> choose(const Choice& choice, Vector<T> a, Vector<T> b) {
  return choice ? a : b;
}
template <class T, class Choice>
Complexes<T> choose(const Choice& choice, Complexes<T> a, Complexes<T> b) {
  return {choice ? a.re : b.re, choice ? a.im : b.im};
}
template <class T>
Vector<T> divide(Vector<T> x, Vector<T> divisor) {
  return x / divisor;
}
template <class T>
Complexes<T> divide(Complexes<T> x, Vector<T> divisor) {
  return {x.re / divisor, x.im / divisor};
}
/// |x|^2 + sum.
template <class T>
Vector<T> add_square(Vector<T> x, Vector<T> sum) {
  return multiply_add<T>(x, x, sum);
}
template <class T>
Vector<T> add_square(Complexes<T> x, Vector<T> sum) {
  return multiply_add<T>(x.im, x.im, multiply_add<T>(x.re, x.re, sum));
}
/// conj(x) y + sum.
template <class T>
Vector<T> add_product(Vector<T> x, Vector<T> y, Vector<T> sum) {
  return multiply_add<T>(x, y, sum);
}
template <class T>
Complexes<T> add_product(Complexes<T> x, Complexes<T> y, Complexes<T> sum) {
  return {multiply_add<T>(x.im, y.im, multiply_add<T>(x.re, y.re, sum.re)),
          subtract_product<T>(multiply_add<T>(x.re, y.im, sum.im), x.im, y.re)};
}

/// factor x + sum.
template <class T>
Vector<T> add(Vector<T> factor, Vector<T> x, Vector<T> sum) {
  return multiply_add<T>(factor, x, sum);
}
template <class T>
Complexes<T> add(Complexes<T> factor, Complexes<T> x, Complexes<T> sum) {
  return {subtract_product<T>(multiply_add<T>(factor.re, x.re, sum.re), factor.im, x.im),
          multiply_add<T>(factor.im, x.re, multiply_add<T>(factor.re, x.im, sum.im))};
}
/// x - factor y, as that of vectors.
template <class T>
Complexes<T> subtract_product(Complexes<T> x, Complexes<T> factor, Complexes<T> y) {
  return {multiply_add<T>(factor.im, y.im, subtract_product<T>(x.re, factor.re, y.re)),
          subtract_product<T>(subtract_product<T>(x.im, factor.re, y.im), factor.im, y.re)};
}

/// What numbers are divided by.
template <class E>
class Divisor {
 public:
  explicit Divisor(Numbers<E> x) {
    if constexpr (kIsComplex<E>) {  // as complex::operator/
      const auto is_turned = magnitude<T>(x.re) < magnitude<T>(x.im);
      const Vector<T> larger = is_turned ? x.im : x.re, smaller = is_turned ? x.re : x.im;
      const Vector<T> ratio = larger == T(0) ? smaller : smaller / larger;
      real_ = is_turned ? ratio : splat(T(1));
      imaginary_ = is_turned ? splat(T(1)) : ratio;
      divisor_ = multiply_add<T>(smaller, ratio, larger);
    } else {
      divisor_ = x;
    }
  }
  Numbers<E> under(Numbers<E> x) const {
    if constexpr (kIsComplex<E>) {
      return {multiply_add<T>(x.im, imaginary_, x.re * real_) / divisor_,
              multiply_add<T>(x.im, real_, -(x.re * imaginary_)) / divisor_};
    } else {
      return x / divisor_;
    }
  }

 private:
  using T = Real<E>;
  Vector<T> divisor_;
  Vector<T> real_, imaginary_;  // of the conjugate in units of the larger part
};

template <class T, class Choice>
bool any(const Choice& choice) {
  bool found = false;
  for (int l = 0; l < kLanes<T>; ++l) found |= choice[l] != 0;
  return found;
}
/// Whether there is a sign, of 0 too.
template <class T>
auto is_negative(Vector<T> x) {
  using Bits = decltype(x > x);
  return (Bits)x < 0;
}

/// Exchanges x and y where `choice` says so.
template <class E, class Choice>
void exchange(const Choice& choice, E* x, E* y) {
  const Numbers<E> a = read(x), b = read(y);
  write(x, choose<Real<E>>(choice, b, a));
  write(y, choose<Real<E>>(choice, a, b));
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
