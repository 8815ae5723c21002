#pragma once

/// Between lines in memory and tiles: the first pass reads lines where they lie, the last one
/// writes them there, in groups of elements that pass through a block in the first cache. A tile,
/// which may lie in the second, is written once and read once less for each.

#include <algorithm>

#include "cpu/fft/pairs.h"
#include "cpu/fft/tiles.h"

namespace flambeau::cpu::FLAMBEAU_ISA::fft {

/// Elements of a group, for each input or result of a transform.
template <class T>
struct Block {
  static constexpr int64_t kStep = kNumbers<T> * kLanes<T>;
  alignas(64) T re[kLargestFormula * kStep];
  alignas(64) T im[kLargestFormula * kStep];
};

/// A tile of so many bytes, which the first cache holds, gains nothing: lines are read in order.
inline constexpr int64_t kSmallTile = 32 << 10;

/// Whether the elements that are read together for a pass, or written, are whole groups.
template <class T>
bool is_grouped(const Plan<T>& plan, const Pass<T>& pass) {
  const bool is_small = 2 * plan.n * kLanes<T> * static_cast<int64_t>(sizeof(T)) <= kSmallTile;
  return !is_small && plan.n / pass.radix % kNumbers<T> == 0 &&
         with_radix(pass.radix, []<int>() {});
}
/// Whether columns are read, or written, where they lie.
template <class T>
bool reads_columns(const Plan<T>& plan) {
  return plan.passes.size() > 1 && with_radix(plan.passes.front().radix, []<int>() {});
}
template <class T>
bool writes_columns(const Plan<T>& plan) {
  return plan.passes.size() > 1 && with_radix(plan.passes.back().radix, []<int>() {});
}
template <class T>
bool reads_groups(const Plan<T>& plan) {
  return !plan.passes.empty() && is_grouped(plan, plan.passes.front());
}
template <class T>
bool writes_groups(const Plan<T>& plan) {
  return !plan.passes.empty() && is_grouped(plan, plan.passes.back());
}

/// Whether lines [first, first + count) are rows or columns of complex numbers.
template <class T>
bool are_dense(const Lines<T>& lines, int64_t first, int64_t count) {
  return are_rows(lines) || are_columns(lines, first, count);
}

/// Such lines, a group of their elements at a time.
template <class T>
class GroupsOfLines {
 public:
  using Number = std::remove_const_t<T>;

  GroupsOfLines(const Lines<T>& lines, int64_t first, int64_t count)
      : step_(lines.step), count_(count), are_columns_(are_columns(lines, first, count)) {
    lines.find(first, count, lines_);
    std::fill(lines_ + count, lines_ + kLanes<T>, lines_[count - 1]);
  }
  /// The group from element k on.
  void read(int64_t k, Parts<Number> group) const {
    if (are_columns_)
      gather_columns<Number>(lines_[0] + k * step_, step_, count_, kNumbers<Number>, group);
    else
      gather_square<Number>(lines_, k, kNumbers<Number>, group);
  }
  void write(int64_t k, Parts<const T> group, T scale) const {
    if (are_columns_)
      scatter_columns<T>(lines_[0] + k * step_, step_, count_, kNumbers<T>, group, scale);
    else
      scatter_square<T>(lines_, count_, k, group, scale);
  }

 private:
  T* lines_[kLanes<Number>];
  int64_t step_, count_;
  bool are_columns_;
};

/// `swaps`: the parts of what is read.
template <class T>
void read_by_first_pass(const Plan<T>& plan, const GroupsOfLines<const T>& lines, bool swaps,
                        Parts<T> tile) {
  const Pass<T>& pass = plan.passes.front();
  with_radix(pass.radix, [&]<int radix>() {
    Block<T> block;
    const Parts<T> given{block.re, block.im};
    for (int64_t p = 0; p < pass.count; p += kNumbers<T>) {
      for (int k = 0; k < radix; ++k)
        lines.read(p + k * pass.count, swapped_if(swaps, given.at(k * block.kStep)));
      transform_some<T, radix>(pass, kLanes<T>, p, p + kNumbers<T>, {block.re, block.im},
                               block.kStep, tile);
    }
  });
}

/// `swaps`: the parts of what is written.
template <class T>
void write_by_last_pass(const Plan<T>& plan, Parts<const T> tile, bool swaps, T scale,
                        const GroupsOfLines<T>& lines) {
  const int64_t last = plan.passes.back().radix, count = plan.n / last;
  with_radix(last, [&]<int radix>() {
    Block<T> block;
    const Parts<const T> found = swapped_if<const T>(swaps, {block.re, block.im});
    for (int64_t q = 0; q < count; q += kNumbers<T>) {
      transform_last<T, radix>(block.kStep, tile.at(q * kLanes<T>), count * kLanes<T>,
                               {block.re, block.im}, block.kStep);
      for (int k = 0; k < radix; ++k) lines.write(q + k * count, found.at(k * block.kStep), scale);
    }
  });
}

/// The same of columns of complex numbers, which are vectors as they lie. The rows of the next
/// transform are asked for meanwhile, as they lie in steps that processors do not foresee.
template <class T, bool swaps>
void read_columns_by_first_pass(const Plan<T>& plan, const T* from, int64_t step, int64_t count,
                                Parts<T> tile) {
  constexpr int64_t kWidth = kLanes<T>;
  const Pass<T>& pass = plan.passes.front();
  const Neighbours<T> neighbours(count);
  with_radix(pass.radix, [&]<int radix>() {
    alignas(64) T block[radix][2 * kWidth];
    for (int64_t p = 0; p < pass.count; ++p) {
      const T* rows[radix];
#pragma GCC unroll 16
      for (int k = 0; k < radix; ++k) {
        rows[k] = from + (p + k * pass.count) * step;
        if (count == kWidth) {
          __builtin_prefetch(rows[k] + step);
          __builtin_prefetch(rows[k] + step + kWidth);
        } else {
          neighbours.load(rows[k], block[k]);
          rows[k] = block[k];
        }
      }
      const T* const turns = pass.twiddles.data() + 2 * p * (radix - 1);
      for (int64_t q = 0; q < kWidth; q += kVector<T>) {
        const auto load = [&](Number<T> & number, int k) __attribute__((always_inline)) {
          load_joined<T, swaps>(number, rows[k] + 2 * q);
        };
        transform_loaded<T, radix, true>(load, tile.at(p * radix * kWidth + q), kWidth, turns);
      }
    }
  });
}

template <class T, bool swaps>
void write_columns_by_last_pass(const Plan<T>& plan, Parts<const T> tile, T scale, T* to,
                                int64_t step, int64_t count) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t last = plan.passes.back().radix, apart = plan.n / last;
  const Neighbours<T> neighbours(count);
  with_radix(last, [&]<int radix>() {
    alignas(64) T block[radix][2 * kWidth];
    for (int64_t p = 0; p < apart; ++p) {
      T* rows[radix];
#pragma GCC unroll 16
      for (int k = 0; k < radix; ++k)
        rows[k] = count == kWidth ? to + (p + k * apart) * step : block[k];
      for (int64_t q = 0; q < kWidth; q += kVector<T>) {
        Number<T> v[radix];
#pragma GCC unroll 16
        for (int k = 0; k < radix; ++k) load_number(v[k], tile.at((p + k * apart) * kWidth + q));
        butterfly(v);
#pragma GCC unroll 16
        for (int k = 0; k < radix; ++k) {
          const Vector<T> re = scale * v[k].re, im = scale * v[k].im;
          store_joined(rows[k] + 2 * q, swaps ? Number<T>{im, re} : Number<T>{re, im});
        }
      }
      for (int k = 0; count < kWidth && k < radix; ++k)
        neighbours.store(to + (p + k * apart) * step, block[k]);
    }
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::fft
