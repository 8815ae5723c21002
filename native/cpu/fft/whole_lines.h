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

/// Lines of a group, which are transformed at once; one alone is its own neighbour.
template <class T>
struct Group {
  T* lines[2];
  Group(const Lines<T>& all, int64_t first, int64_t count)
      : lines{all.line(std::min(first, count - 1)), all.line(std::min(first + 1, count - 1))} {}
};

/// Where results of `count` lines go that a block holds side by side, 1 or 2: those of lanes from
/// `lane` on are numbers k + lane of the first line, or of the second.
template <class T, int count>
struct Place {
  static constexpr int64_t kWidth = kLanes<T> / count;
  int64_t line, number;
  FLAMBEAU_INLINE Place(int64_t k, int64_t lane) : line(lane / kWidth), number(k + lane % kWidth) {}
};

/// Complex numbers to lines. Meanwhile the same places of the lines that follow are asked for: the
/// work on a line is more than processors look ahead.
template <class T, int count>
FLAMBEAU_INLINE void store_joined(const Group<T>& to, const Group<const T>& following, int64_t k,
                                  int64_t lane, const Number<T>& number) {
  Vector<T> low, high;
  join_parts<T>(low, high, number);
  const Place<T, count> first(k, lane), second(k, lane + kVector<T> / 2);
  FLAMBEAU_ISA::store(to.lines[first.line] + 2 * first.number, low);
  FLAMBEAU_ISA::store(to.lines[second.line] + 2 * second.number, high);
  __builtin_prefetch(following.lines[first.line] + 2 * first.number);
  if constexpr (kVectorBytes == 64)
    __builtin_prefetch(following.lines[second.line] + 2 * second.number);
}

/// Results as complex numbers in memory.
template <class T, bool swaps>
struct JoinedResult {
  Group<T> to;
  Group<const T> following;
  T scale;
  /// Those of all rows, numbers from k on, `step` apart, in the lanes from `lane` on.
  template <int count>
  FLAMBEAU_INLINE void write(int64_t k, int64_t step, int64_t lane,
                             const Number<T> (&numbers)[kLanes<T>]) const {
#pragma GCC unroll 16
    for (int64_t j = 0; j < kLanes<T>; ++j) {
      const Vector<T> re = scale * numbers[j].re, im = scale * numbers[j].im;
      store_joined<T, count>(to, following, k + j * step, lane,
                             swaps ? Number<T>{im, re} : Number<T>{re, im});
    }
  }
};

/// The first halves of the transforms of real numbers, given in pairs, of lines of one square: all
/// that one result is made of is found in registers.
template <class T>
struct SplitResult {
  const RealPlan<T>& plan;
  Group<T> to;
  Group<const T> following;
  T scale;

  /// Whether those of a row are mirrored within a vector.
  template <int count>
  static constexpr bool kSuits = kVector<T> % Place<T, count>::kWidth == 0;

  template <int count>
  FLAMBEAU_INLINE void write(int64_t, int64_t, int64_t lane,
                             const Number<T> (&z)[kLanes<T>]) const {
    constexpr int64_t kWidth = Place<T, count>::kWidth;
    const T half = T(0.5) * scale;
#pragma GCC unroll 16
    for (int64_t j = 0; j < kLanes<T>; ++j) {
      const Number<T>& next = z[(kLanes<T> - j) % kLanes<T>];
      Number<T> mirror, found;
      mirror_row<kWidth>(mirror.re, z[kLanes<T> - 1 - j].re, next.re);
      mirror_row<kWidth>(mirror.im, z[kLanes<T> - 1 - j].im, next.im);
      const T* const roots = plan.root_rows.data() + 2 * j * kLanes<T> + lane;
      split_pair(found.re, found.im, z[j].re, z[j].im, mirror.re, mirror.im,
                 FLAMBEAU_ISA::load(roots), FLAMBEAU_ISA::load(roots + kLanes<T>));
      store_joined<T, count>(to, following, j * kWidth, lane, half * found);
    }
    for (int64_t v = 0; v < kVector<T>; v += kWidth) {
      T* const last = to.lines[(lane + v) / kWidth] + 2 * kWidth * kLanes<T>;
      last[0] = scale * (z[0].re[v] - z[0].im[v]);
      last[1] = T(0);
    }
  }

 private:
  /// Of each `width` elements, the first from `first`, the others of `rest` from the last to the
  /// second.
  template <int64_t width, int... i>
  static FLAMBEAU_INLINE void mirror_row(Vector<T>& to, const Vector<T>& rest,
                                         const Vector<T>& first, std::integer_sequence<int, i...>) {
    constexpr int n = sizeof...(i);
    to = __builtin_shufflevector(
        rest, first, (i % width == 0 ? n + i : i / width * width + width - i % width)...);
  }
  template <int64_t width>
  static FLAMBEAU_INLINE void mirror_row(Vector<T>& to, const Vector<T>& rest,
                                         const Vector<T>& first) {
    mirror_row<width>(to, rest, first, std::make_integer_sequence<int, kVector<T>>());
  }
};

/// Results with parts apart.
template <class T>
struct PartedResult {
  Parts<T> lines[2];
  template <int count>
  FLAMBEAU_INLINE void write(int64_t k, int64_t step, int64_t lane,
                             const Number<T> (&numbers)[kLanes<T>]) const {
    const Place<T, count> place(k, lane);
#pragma GCC unroll 16
    for (int64_t j = 0; j < kLanes<T>; ++j)
      store_number(lines[place.line].at(place.number + j * step), numbers[j]);
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
      : plan_(flambeau::cpu::fft::line_plan_of<T>(n)),
        rows_(n / kRow),
        together_(rows_ < kRow ? 2 : 1) {}
  /// Lines that are transformed at once.
  int64_t together() const { return together_; }

  /// Of real numbers in pairs.
  void run_real(const RealPlan<T>& plan, const Group<const T>& from, const Group<T>& to,
                const Group<const T>& following, T scale) const {
    const SplitResult<T> split{plan, to, following, scale};
    if constexpr (SplitResult<T>::template kSuits<1>) {
      if (rows_ == kRow) return run<false>(from, split);
    }
    if constexpr (SplitResult<T>::template kSuits<2>) {
      if (rows_ < kRow) return run<false>(from, split);
    }
    const int64_t size = rows_ * kRow + kRow;  // and the first number again
    T* const z = scratch<T>(1, static_cast<size_t>(4 * size));
    const PartedResult<T> result{{{z, z + size}, {z + 2 * size, z + 3 * size}}};
    run<false>(from, result);
    for (int64_t v = 0; v < together_; ++v) split_parts(plan, result.lines[v], to.lines[v], scale);
  }

  template <bool swaps, class Result>
  void run(const Group<const T>& from, const Result& result) const {
    Parts<const T> rows;
    for (int64_t v = 0; v < together_; ++v) rows = transform_columns<swaps>(from.lines[v], v);
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
  FLAMBEAU_INLINE Parts<const T> transform_columns(const T* line, int64_t which) const {
    const int64_t first = which * rows_ * kRow;
    Parts<T> from = buffer(0).at(first), to = buffer(1).at(first);
    const auto& passes = plan_->of_columns->passes;
    const Pass<T>& pass = passes.front();
    with_radix(pass.radix, [&]<int radix>() {
      if (pass.count == 1)
        read<swaps, radix, false>(1, nullptr, line, to);
      else
        read<swaps, radix, true>(pass.count, pass.twiddles.data(), line, to);
    });
    int64_t s = kRow * pass.radix;
    for (size_t i = 1; i < passes.size(); ++i) {
      std::swap(from, to);
      run_pass<T>(passes[i], s, {from.re, from.im}, to);
      s *= passes[i].radix;
    }
    return {to.re, to.im};
  }

  /// The first pass.
  template <bool swaps, int radix, bool has_turns>
  static void read(int64_t count, const T* twiddles, const T* line, Parts<T> to) {
    for (int64_t p = 0; p < count; ++p) {
      const T* const turns = has_turns ? twiddles + 2 * p * (radix - 1) : nullptr;
      for (int64_t q = 0; q < kRow; q += kVector<T>) {
        const auto load = [&](Number<T> & number, int k) __attribute__((always_inline)) {
          load_joined<T, swaps>(number, line + 2 * ((p + k * count) * kRow + q));
        };
        transform_loaded<T, radix, has_turns>(load, to.at(p * radix * kRow + q), kRow, turns);
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
      result.template write<count>(k, rows_, q, v);
    }
  }
  static FLAMBEAU_INLINE void transpose_square(const T* from, T* to) {
    transpose<Copy::plain, T>([&](int i) { return from + i * kRow; },
                              [&](int i) { return to + i * kRow; }, T(1));
  }

  std::shared_ptr<const LinePlan<T>> plan_;
  int64_t rows_, together_;
};

/// Calls body(from, to, following) with the lines of groups, on several threads where there are
/// many.
template <class T, class Body>
void for_lines(const LineTransform<T>& transform, int64_t n, const Lines<const T>& in,
               const Lines<T>& out, int64_t count, const Body& body) {
  const int64_t together = transform.together(), groups = (count + together - 1) / together;
  parallel_for(0, groups, std::max<int64_t>(1, kGrain / (8 * n * together)),
               [&](int64_t begin, int64_t end) {
                 Group<const T> from(in, begin * together, count);
                 for (int64_t g = begin; g < end; ++g) {
                   const Group<const T> following(in, (g + 1) * together, count);
                   body(from, Group<T>(out, g * together, count), following);
                   from = following;
                 }
               });
}

template <class T, bool swaps>
void transform_lines(int64_t n, const Lines<const T>& in, const Lines<T>& out, int64_t count,
                     T scale) {
  const LineTransform<T> transform(n);
  for_lines(transform, n, in, out, count,
            [&](const Group<const T>& from, const Group<T>& to, const Group<const T>& following) {
              transform.template run<swaps>(from, JoinedResult<T, swaps>{to, following, scale});
            });
}

/// The first halves of the transforms of real numbers, which are given in pairs.
template <class T>
void transform_real_lines(const RealPlan<T>& plan, const Lines<const T>& in, const Lines<T>& out,
                          int64_t count, T scale) {
  const LineTransform<T> transform(plan.half->n);
  for_lines(transform, plan.half->n, in, out, count,
            [&](const Group<const T>& from, const Group<T>& to, const Group<const T>& following) {
              transform.run_real(plan, from, to, following, scale);
            });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
