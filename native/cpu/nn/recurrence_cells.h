#pragma once

/// What each kind of recurrent layer does with a row of a step, and the derivative of that. Include
/// only from *.simd.cpp files.
///
/// Rows: x and p are the products of the input and of the state ([gates * n]), `keep` what the
/// gradient needs ([kept * n]), the new h last: outputs may be written over. h and c are the state,
/// which forward() replaces. backward() takes the gradient dh of the new h, and replaces dc, the
/// gradient of the new c, by that of the old one; dx and dp are the gradients of x and p, `direct`
/// what reaches the old h past p.

#include "cpu/math.h"

#include "core/math/exponentials.h"
#include "core/math/trigonometry.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Gates in the order input, forget, cell, output. Kept: these, the new cell, h.
template <class C>
struct LstmCell {
  static constexpr int64_t gates = 4, kept = 6;
  static constexpr bool has_direct = false, same_products = true;

  static void forward(int64_t n, const C* __restrict x, const C* __restrict p, C* __restrict h,
                      C* __restrict c, C* __restrict keep) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const C i = math::sigmoid(x[j] + p[j]), f = math::sigmoid(x[n + j] + p[n + j]);
      const C g = math::tanh(x[2 * n + j] + p[2 * n + j]);
      const C o = math::sigmoid(x[3 * n + j] + p[3 * n + j]);
      const C cell = f * c[j] + i * g;
      keep[j] = i;
      keep[n + j] = f;
      keep[2 * n + j] = g;
      keep[3 * n + j] = o;
      keep[4 * n + j] = cell;
      c[j] = cell;
      h[j] = keep[5 * n + j] = o * math::tanh(cell);
    }
  }

  static void backward(int64_t n, const C* __restrict keep, const C* __restrict c_before, const C*,
                       const C* __restrict dh, C* __restrict dc, C* __restrict dx, C* __restrict dp,
                       C*) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const C i = keep[j], f = keep[n + j], g = keep[2 * n + j], o = keep[3 * n + j];
      const C level = math::tanh(keep[4 * n + j]);
      const C slope = dc[j] + dh[j] * o * (C(1) - level * level);
      dx[j] = dp[j] = slope * g * i * (C(1) - i);
      dx[n + j] = dp[n + j] = slope * c_before[j] * f * (C(1) - f);
      dx[2 * n + j] = dp[2 * n + j] = slope * i * (C(1) - g * g);
      dx[3 * n + j] = dp[3 * n + j] = dh[j] * level * o * (C(1) - o);
      dc[j] = slope * f;
    }
  }
};

/// Gates in the order reset, update, new; the reset gate after the product. Kept: these, the
/// product of the new gate, h.
template <class C>
struct GruCell {
  static constexpr int64_t gates = 3, kept = 5;
  static constexpr bool has_direct = true, same_products = false;

  static void forward(int64_t n, const C* __restrict x, const C* __restrict p, C* __restrict h, C*,
                      C* __restrict keep) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const C r = math::sigmoid(x[j] + p[j]), z = math::sigmoid(x[n + j] + p[n + j]);
      const C past = p[2 * n + j], fresh = math::tanh(x[2 * n + j] + r * past);
      keep[j] = r;
      keep[n + j] = z;
      keep[2 * n + j] = fresh;
      keep[3 * n + j] = past;
      h[j] = keep[4 * n + j] = fresh + z * (h[j] - fresh);
    }
  }

  static void backward(int64_t n, const C* __restrict keep, const C*, const C* __restrict h_before,
                       const C* __restrict dh, C*, C* __restrict dx, C* __restrict dp,
                       C* __restrict direct) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const C r = keep[j], z = keep[n + j], fresh = keep[2 * n + j], past = keep[3 * n + j];
      const C slope = dh[j] * (C(1) - z) * (C(1) - fresh * fresh);
      dx[j] = dp[j] = slope * past * r * (C(1) - r);
      dx[n + j] = dp[n + j] = dh[j] * (h_before[j] - fresh) * z * (C(1) - z);
      dx[2 * n + j] = slope;
      dp[2 * n + j] = slope * r;
      direct[j] = dh[j] * z;
    }
  }
};

/// A plain layer, whose slope follows from h.
template <class C, bool rectified>
struct ElmanCell {
  static constexpr int64_t gates = 1, kept = 1;
  static constexpr bool has_direct = false, same_products = true;

  static void forward(int64_t n, const C* __restrict x, const C* __restrict p, C* __restrict h, C*,
                      C* __restrict keep) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const C sum = x[j] + p[j];
      // A NaN passes.
      h[j] = keep[j] = rectified ? (sum < C(0) ? C(0) : sum) : math::tanh(sum);
    }
  }

  static void backward(int64_t n, const C* __restrict h, const C*, const C*, const C* __restrict dh,
                       C*, C* __restrict dx, C* __restrict dp, C*) {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
      const C slope = rectified ? (h[j] > C(0) ? C(1) : C(0)) : C(1) - h[j] * h[j];
      dx[j] = dp[j] = dh[j] * slope;
    }
  }
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA
