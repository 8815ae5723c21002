#pragma once

/// Transforms of lines without gaps, each on its own: a line is a matrix of rows of 64 bytes of
/// real numbers, whose columns lie side by side. They are transformed, turned, and transposed in
/// squares; then so are the rows. A line stays in the first cache and is read and written once, in
/// order.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/threads/parallel.h"
#include "cpu/fft/lines.h"
#include "cpu/fft/pairs.h"
#include "cpu/fft/passes.h"
#include "cpu/fft/plan.h"
#include "cpu/fft/square.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

using ::flambeau::cpu::fft::LinePlan;

/// Where results of `count` lines go that a block holds side by side, 1 or 2: those of lanes from
/// `lane` on are numbers k + lane of the first line, or of the second.
template <class T, int count>
struct Place {
  static constexpr int64_t kWidth = kLanes<T> / count;
  int64_t line, number;
  FLAMBEAU_INLINE Place(int64_t k, int64_t lane) : line(lane / kWidth), number(k + lane % kWidth) {}
};

/// Results as complex numbers in memory.
template <class T, bool swaps>
struct JoinedResult {
  T* lines[2];
  T scale;
  template <int count>
  FLAMBEAU_INLINE void write(int64_t k, int64_t lane, const Number<T>& number) const {
    constexpr int64_t half = kVector<T> / 2;
    const Vector<T> re = scale * number.re, im = scale * number.im;
    Vector<T> low, high;
    join_parts<T>(low, high, swaps ? Number<T>{im, re} : Number<T>{re, im});
    const Place<T, count> first(k, lane), second(k, lane + half);
    FLAMBEAU_ISA::store(lines[first.line] + 2 * first.number, low);
    FLAMBEAU_ISA::store(lines[second.line] + 2 * second.number, high);
  }
};

/// Results with parts apart.
template <class T>
struct PartedResult {
  Parts<T> lines[2];
  template <int count>
  FLAMBEAU_INLINE void write(int64_t k, int64_t lane, const Number<T>& number) const {
    constexpr int64_t size = std::min(kVector<T>, Place<T, count>::kWidth);
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVector<T>; v += size) {
      const Place<T, count> place(k, lane + v);
      const Parts<T> to = lines[place.line].at(place.number);
      memcpy(to.re, reinterpret_cast<const T*>(&number.re) + v, size * sizeof(T));
      memcpy(to.im, reinterpret_cast<const T*>(&number.im) + v, size * sizeof(T));
    }
  }
};

/// Transforms of one or two lines of a length, in this thread's working memory.
template <class T>
class LineTransform {
 public:
  static constexpr int64_t kRow = kLanes<T>;

  /// Lengths of whole squares, or, of two lines at once, of half of one.
  static bool suits(int64_t n) {
    return n <= kLongest && (n == kRow * kRow / 2 || (n > 0 && n % (kRow * kRow) == 0)) &&
           with_radix(flambeau::cpu::fft::plan_of<T>(n / kRow)->passes.front().radix, []<int>() {});
  }
  explicit LineTransform(int64_t n)
      : plan_(flambeau::cpu::fft::line_plan_of<T>(n)), rows_(n / kRow), together_(rows_ < kRow ? 2 : 1) {}
  /// Lines that are transformed at once.
  int64_t together() const { return together_; }

  template <bool swaps, class Result>
  void run(const T* const* lines, const Result& result) const {
    Parts<const T> rows;
    for (int64_t v = 0; v < together_; ++v) rows = transform_columns<swaps>(lines[v], v);
    rows = {rows.re - (together_ - 1) * rows_ * kRow, rows.im - (together_ - 1) * rows_ * kRow};
    if (together_ == 2) return transform_rows<2>(rows, 0, result);
    for (int64_t k = 0; k < rows_; k += kRow) transform_rows<1>(rows.at(k * kRow), k, result);
  }

 private:
  /// Rows between parts and buffers, as in a tile.
  static constexpr int64_t kApart = 5;
  static constexpr int64_t kLongest = 4096;

  Parts<T> buffer(int which) const {
    const int64_t size = (rows_ * together_ + kApart) * kRow;
    T* const start = scratch<T>(0, static_cast<size_t>(4 * size)) + 2 * which * size;
    return {start, start + size};
  }

  /// Where the results are.
  template <bool swaps>
  Parts<const T> transform_columns(const T* line, int64_t which) const {
    const int64_t first = which * rows_ * kRow;
    Parts<T> buffers[2] = {buffer(0).at(first), buffer(1).at(first)};
    const auto& passes = plan_->of_columns->passes;
    with_radix(passes.front().radix, [&]<int radix>() {
      read<swaps, radix>(passes.front(), line, buffers[0]);
    });
    int64_t s = kRow * passes.front().radix;
    for (size_t i = 1; i < passes.size(); ++i) {
      run_pass<T>(passes[i], s, {buffers[0].re, buffers[0].im}, buffers[1]);
      s *= passes[i].radix;
      std::swap(buffers[0], buffers[1]);
    }
    return {buffers[0].re, buffers[0].im};
  }

  template <bool swaps, int radix>
  static void read(const Pass<T>& pass, const T* line, Parts<T> to) {
    for (int64_t p = 0; p < pass.count; ++p) {
      const T* const turns = pass.twiddles.data() + 2 * p * (radix - 1);
      for (int64_t q = 0; q < kRow; q += kVector<T>) {
        const auto load = [&](Number<T>& number, int k) __attribute__((always_inline)) {
          load_joined<T, swaps>(number, line + 2 * ((p + k * pass.count) * kRow + q));
        };
        transform_loaded<T, radix, true>(load, to.at(p * radix * kRow + q), kRow, turns);
      }
    }
  }

  /// A square: numbers [k, k + kRow) of all columns.
  template <int count, class Result>
  void transform_rows(Parts<const T> rows, int64_t k, const Result& result) const {
    alignas(64) T re[kRow * kRow], im[kRow * kRow];
    transpose_square(rows.re, re);
    transpose_square(rows.im, im);
    const T* const turns = plan_->turns.data() + 2 * k * (kRow - 1);
    for (int64_t q = 0; q < kRow; q += kVector<T>) {
      Number<T> v[kRow];
      load_number(v[0], Parts<const T>{re + q, im + q});
#pragma GCC unroll 16
      for (int64_t j = 1; j < kRow; ++j) {
        const T* const turn = turns + (2 * j - 2) * kRow + q;
        load_number(v[j], Parts<const T>{re + j * kRow + q, im + j * kRow + q});
        v[j] = v[j].turned(FLAMBEAU_ISA::load(turn), FLAMBEAU_ISA::load(turn + kRow));
      }
      butterfly(v);
#pragma GCC unroll 16
      for (int64_t j = 0; j < kRow; ++j)
        result.template write<count>(k + j * rows_, q, v[j]);
    }
  }
  static FLAMBEAU_INLINE void transpose_square(const T* from, T* to) {
    transpose<Copy::plain, T>([&](int i) { return from + i * kRow; },
                              [&](int i) { return to + i * kRow; }, T(1));
  }

  std::shared_ptr<const LinePlan<T>> plan_;
  int64_t rows_, together_;
};

/// Calls body(first, count) for groups of lines as they are transformed at once, on several
/// threads where there are many.
template <class T, class Body>
void for_lines(const LineTransform<T>& transform, int64_t lines, int64_t n, const Body& body) {
  const int64_t together = transform.together(), groups = (lines + together - 1) / together;
  parallel_for(0, groups, std::max<int64_t>(1, kGrain / (8 * n * together)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t g = begin; g < end; ++g)
                   body(g * together, std::min(together, lines - g * together));
               });
}

template <class T, bool swaps>
void transform_lines(int64_t n, const Lines<const T>& in, const Lines<T>& out, int64_t count,
                     T scale) {
  const LineTransform<T> transform(n);
  for_lines(transform, count, n, [&](int64_t first, int64_t) {
    const int64_t second = std::min(first + 1, count - 1);
    const T* const from[] = {in.line(first), in.line(second)};
    const JoinedResult<T, swaps> result{{out.line(first), out.line(second)}, scale};
    transform.template run<swaps>(from, result);
  });
}

/// The first halves of the transforms of real numbers, which are given in pairs.
template <class T>
void transform_real_lines(const RealPlan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                          int64_t count, T scale) {
  const int64_t n = plan.half->n, size = n + kLanes<T>;  // and the first number again
  const LineTransform<T> transform(n);
  for_lines(transform, count, n, [&](int64_t first, int64_t found) {
    const int64_t second = std::min(first + 1, count - 1);
    const T* const from[] = {in.line(first), in.line(second)};
    T* const z = scratch<T>(1, static_cast<size_t>(4 * size));
    const PartedResult<T> result{{{z, z + size}, {z + 2 * size, z + 3 * size}}};
    transform.template run<false>(from, result);
    for (int64_t v = 0; v < found; ++v)
      split_parts(plan, result.lines[v], out.line(first + v), scale);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
