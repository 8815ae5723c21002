#pragma once

/// Transforms of real numbers in pairs, as complex numbers: what comes after, or before.

#include <cstdint>

#include "cpu/fft/passes.h"
#include "cpu/fft/square.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

using ::flambeau::cpu::fft::RealPlan;

/// Complex numbers side by side, as many as a vector has elements, from memory and back.
template <class T, bool swaps>
FLAMBEAU_INLINE void load_joined(Number<T>& number, const T* from) {
  constexpr auto order = std::make_integer_sequence<int, kVector<T>>();
  const Vector<T> a = FLAMBEAU_ISA::load(from), b = FLAMBEAU_ISA::load(from + kVector<T>);
  detail::every_other<0, 1>(swaps ? number.im : number.re, a, b, order);
  detail::every_other<1, 1>(swaps ? number.re : number.im, a, b, order);
}
template <class T>
FLAMBEAU_INLINE void join_parts(Vector<T>& low, Vector<T>& high, const Number<T>& number) {
  constexpr auto order = std::make_integer_sequence<int, kVector<T>>();
  detail::interleave<0, kVector<T>>(low, number.re, number.im, order);
  detail::interleave<1, kVector<T>>(high, number.re, number.im, order);
}

template <class T>
FLAMBEAU_INLINE void store_joined(T* to, const Number<T>& number) {
  Vector<T> low, high;
  join_parts<T>(low, high, number);
  FLAMBEAU_ISA::store(to, low);
  FLAMBEAU_ISA::store(to + kVector<T>, high);
}

/// X_k = E_k + w^k O_k of the transforms of the even and the odd numbers, where z = E_k + i O_k and
/// `mirror` is E_-k + i O_-k. V: a number, or many side by side.
template <class V>
FLAMBEAU_INLINE void split_pair(V& re, V& im, V z_re, V z_im, V mirror_re, V mirror_im, V root_re,
                                V root_im) {
  const V odd_re = z_im + mirror_im, odd_im = mirror_re - z_re;  // -i (Z_k - conj Z_-k)
  re = z_re + mirror_re + odd_re * root_re - odd_im * root_im;
  im = z_im - mirror_im + odd_re * root_im + odd_im * root_re;
}

/// The reverse, twice as large.
template <class V>
FLAMBEAU_INLINE void join_pair(V& re, V& im, V x_re, V x_im, V mirror_re, V mirror_im, V root_re,
                               V root_im) {
  const V gap_re = x_re - mirror_re, gap_im = x_im + mirror_im;
  const V odd_re = gap_re * root_re + gap_im * root_im;
  const V odd_im = gap_im * root_re - gap_re * root_im;
  re = x_re + mirror_re - odd_im;
  im = x_im - mirror_im + odd_re;
}

/// Complex numbers of a line, kLanes of them.
template <class T>
struct RowPair {
  typename RowOf<T>::type re, im;
};

/// kLanes numbers from place k on, and those of their mirrors, `size` - k and so on.
template <class T>
FLAMBEAU_INLINE void load_mirrored(const T* z, int64_t k, int64_t size, RowPair<T>& numbers,
                                   RowPair<T>& mirrors) {
  load_parts(numbers.re, numbers.im, z + 2 * k);
  load_parts(mirrors.re, mirrors.im, z + 2 * (size - k - kLanes<T> + 1));
  turn_round<T>(mirrors.re);
  turn_round<T>(mirrors.im);
}

/// The transform of 2 h real numbers from that, z, of h pairs, each multiplied by `scale`.
template <class T>
void split_pairs(const RealPlan<T>& plan, const T* z, T* to, int64_t step, T scale) {
  const int64_t half = plan.half->n;
  const T* roots = plan.roots.data();
  scale *= T(0.5);
  int64_t k = 1;
  for (; step == 2 && k + kLanes<T> <= half; k += kLanes<T>) {
    RowPair<T> one, mirror, root, found;
    load_mirrored(z, k, half, one, mirror);
    load_parts(root.re, root.im, roots + 2 * k);
    split_pair(found.re, found.im, one.re, one.im, mirror.re, mirror.im, root.re, root.im);
    store_parts<T>(to + 2 * k, found.re * scale, found.im * scale);
  }
  const auto split = [&](int64_t at, int64_t place) {
    const T *one = z + 2 * place, *mirror = z + 2 * (place == 0 ? 0 : half - place);
    T re, im;
    split_pair(re, im, one[0], one[1], mirror[0], mirror[1], roots[2 * at], roots[2 * at + 1]);
    to[at * step] = re * scale;
    to[at * step + 1] = im * scale;
  };
  for (; k < half; ++k) split(k, k);
  split(0, 0);
  split(half, 0);
}

/// The same of one line whose parts lie apart, with room for one number more.
template <class T>
void split_parts(const RealPlan<T>& plan, Parts<T> z, T* to, T scale) {
  constexpr auto order = std::make_integer_sequence<int, kVector<T>>();
  const int64_t half = plan.half->n;
  z.re[half] = z.re[0];
  z.im[half] = z.im[0];
  for (int64_t k = 0; k < half; k += kVector<T>) {
    Number<T> one, mirror, root, found;
    load_number(one, Parts<const T>{z.re + k, z.im + k});
    const int64_t last = half - k - kVector<T> + 1;
    load_number(mirror, Parts<const T>{z.re + last, z.im + last});
    detail::turn_round(mirror.re, order);
    detail::turn_round(mirror.im, order);
    const int64_t width = plan.root_width;
    const T* const roots = plan.root_rows.data() + 2 * (k / width) * kLanes<T> + k % width;
    load_number(root, Parts<const T>{roots, roots + kLanes<T>});
    split_pair(found.re, found.im, one.re, one.im, mirror.re, mirror.im, root.re, root.im);
    store_joined(to + 2 * k, T(0.5) * scale * found);
  }
  to[2 * half] = scale * (z.re[0] - z.im[0]);
  to[2 * half + 1] = T(0);
}

/// What split_pairs makes, to h pairs, twice as large. The first and the last number count as real.
template <class T>
void join_pairs(const RealPlan<T>& plan, const T* from, int64_t step, T* z) {
  const int64_t half = plan.half->n;
  const T* roots = plan.roots.data();
  const T first = from[0], last = from[half * step];
  join_pair(z[0], z[1], first, T(0), last, T(0), roots[0], roots[1]);
  int64_t k = 1;
  for (; step == 2 && k + kLanes<T> <= half; k += kLanes<T>) {
    RowPair<T> one, mirror, root, found;
    load_mirrored(from, k, half, one, mirror);
    load_parts(root.re, root.im, roots + 2 * k);
    join_pair(found.re, found.im, one.re, one.im, mirror.re, mirror.im, root.re, root.im);
    store_parts<T>(z + 2 * k, found.re, found.im);
  }
  for (; k < half; ++k) {
    const T *one = from + k * step, *mirror = from + (half - k) * step;
    join_pair(z[2 * k], z[2 * k + 1], one[0], one[1], mirror[0], mirror[1], roots[2 * k],
              roots[2 * k + 1]);
  }
}

/// The same for lines side by side, not scaled: from h numbers of each to h + 1.
template <class T>
void split_pairs_of_lines(const RealPlan<T>& plan, Parts<const T> z, Parts<T> to) {
  const int64_t half = plan.half->n;
  for (int64_t k = 0; k <= half; ++k) {
    const Vector<T> root_re = splat(plan.roots[static_cast<size_t>(2 * k)]);
    const Vector<T> root_im = splat(plan.roots[static_cast<size_t>(2 * k + 1)]);
    for (int64_t v = 0; v < kLanes<T>; v += kVector<T>) {
      Number<T> one, mirror, found;
      load_number(one, z.at((k == half ? 0 : k) * kLanes<T> + v));
      load_number(mirror, z.at((k == 0 ? 0 : half - k) * kLanes<T> + v));
      split_pair(found.re, found.im, one.re, one.im, mirror.re, mirror.im, root_re, root_im);
      store_number(to.at(k * kLanes<T> + v), found);
    }
  }
}

/// And from h + 1 to h.
template <class T>
void join_pairs_of_lines(const RealPlan<T>& plan, Parts<const T> from, Parts<T> z) {
  const int64_t half = plan.half->n;
  for (int64_t k = 0; k < half; ++k) {
    const Vector<T> root_re = splat(plan.roots[static_cast<size_t>(2 * k)]);
    const Vector<T> root_im = splat(plan.roots[static_cast<size_t>(2 * k + 1)]);
    for (int64_t v = 0; v < kLanes<T>; v += kVector<T>) {
      Number<T> one, mirror, found;
      load_number(one, from.at(k * kLanes<T> + v));
      load_number(mirror, from.at((half - k) * kLanes<T> + v));
      if (k == 0) one.im = mirror.im = Vector<T>{};
      join_pair(found.re, found.im, one.re, one.im, mirror.re, mirror.im, root_re, root_im);
      store_number(z.at(k * kLanes<T> + v), found);
    }
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
