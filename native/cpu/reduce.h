#pragma once

/// The loops that reduction kernels run in. A kernel gives a fold: how an accumulator starts, takes
/// an element, meets another accumulator and becomes a result. What is generated describes one, as
/// core/types/kernel_types.h says; folds by hand are given to reduce():
///
///     reduce<float, float16>(reduction, MeanFold<float>{});
///
/// Several results: reduce<Outs<float, float>, float>(...), and
/// `void finish(A acc, int64_t n, float& variance, float& mean) const`.
///
/// reduce<Out, In>: element types of the result and of the input in memory; the fold sees compute
/// types (float for half types) and finish() returns something that static_casts to Compute<Out>.
/// step and combine must be commutative and associative up to rounding, combine(init(), a) == a,
/// and written without branches (conditional expressions are fine), so that they vectorise. An
/// Accumulator may be any trivially copyable struct. Order of evaluation depends on the geometry
/// only, never on the number of threads; no partial sum takes more than about a hundred steps, so
/// float32 sums are good to float32 precision at any length.
///
/// How it works: a fold is compiled into a few loops over dense memory (struct FoldLoops), which
/// the driver (reduce.simd.cpp, shared by all folds) calls on pieces of the input, gathering and
/// converting what is not dense into buffers first.

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/iteration/reduction.h"
#include "cpu/loops.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace detail {

/// A fold as the driver sees it. `fold` points to the functor; accumulators are opaque.
struct FoldLoops {
  int64_t accumulator_bytes;
  OperandKind input;
  const OperandKind* outputs;
  int output_count;
  /// accumulators[0, count) = init()
  void (*init)(const void* fold, void* accumulators, int64_t count);
  /// accumulators[r] = the fold of row r of `count` dense elements; rows lie `stride` bytes apart.
  void (*rows)(const void* fold, void* accumulators, const char* data, int64_t count, int64_t rows,
               int64_t stride);
  /// accumulators[c] takes element (r, c) for r in [0, rows), c in [0, columns); strides in
  /// elements.
  void (*columns)(const void* fold, void* accumulators, const char* data, int64_t rows,
                  int64_t row_stride, int64_t columns, int64_t column_stride);
  /// Results, as `finish` makes them, of columns of few rows: accumulators stay in registers.
  void (*few)(const void* fold, char* const* results, const char* data, int64_t rows,
              int64_t row_stride, int64_t columns);
  /// a[i] = combine(a[i], b[i])
  void (*combine)(const void* fold, void* a, const void* b, int64_t count);
  /// Results, in the compute types of the outputs, dense.
  void (*finish)(const void* fold, char* const* results, const void* accumulators, int64_t count,
                 int64_t reduced);
};

void run_reduce(const Reduction& reduction, const FoldLoops& loops, const void* fold, int64_t cost);

template <class Fold, class Outputs, class In>
struct FoldImpl;
template <class Fold, class... Out, class In>
struct FoldImpl<Fold, Outs<Out...>, In> {
  /// Bytes for bools, which compilers keep out of vectors.
  using A = std::conditional_t<std::is_same_v<typename Fold::Accumulator, bool>, uint8_t,
                               typename Fold::Accumulator>;
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= 64);
#if defined(__AVX2__)
  static constexpr size_t kLaneBytes = 256;
#else
  static constexpr size_t kLaneBytes = 128;
#endif
  /// Independent accumulators of one row: enough vectors to hide the latency of an addition.
  static constexpr int64_t kLanes =
      std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(kLaneBytes / sizeof(A))), 4, 64);
  /// Elements of a cache line, and how far ahead of its use memory is asked for: the processor's
  /// own prefetching stops at every page.
  static constexpr int64_t kLine = 64 / sizeof(In), kAhead = 4096 / sizeof(In);
  /// Steps into a lane before it is emptied into the lane of the next level.
  static constexpr int64_t kSteps = 64;

  static const Fold& get(const void* fold) { return *static_cast<const Fold*>(fold); }

  static void init(const void* object, void* accumulators, int64_t count) {
    const Fold fold = get(object);
    A* acc = static_cast<A*>(accumulators);
    for (int64_t i = 0; i < count; ++i) acc[i] = fold.init();
  }

  /// Leaves the combination of 2 * width lanes in lane 0. The widths are known when compiling.
  template <int64_t width>
  static FLAMBEAU_INLINE void halve(const Fold& fold, A* lane) {
    if constexpr (width > 0) {
#pragma omp simd
      for (int64_t j = 0; j < width; ++j) lane[j] = fold.combine(lane[j], lane[j + width]);
      halve<width / 2>(fold, lane);
    }
  }

  /// Lanes of short rows, in which the steps cost less than what joins the lanes.
  static constexpr int64_t kFewLanes = kLanes / 4;

  /// What `lanes` accumulators make of the elements up to the last whole set of so many, joined
  /// with `result`.
  template <int64_t lanes>
  static FLAMBEAU_INLINE void take(const Fold& fold, A& result, const Loaded<In>*& x,
                                   int64_t& count) {
    if (count < lanes) return;
    A lane[lanes];
    for (int64_t j = 0; j < lanes; ++j) lane[j] = fold.init();
    for (; count >= lanes; count -= lanes, x += lanes) {
#pragma omp simd
      for (int64_t j = 0; j < lanes; ++j) lane[j] = fold.step(lane[j], In(x[j]));
    }
    halve<lanes / 2>(fold, lane);
    result = fold.combine(result, lane[0]);
  }

  /// The same for long rows: lanes are emptied into those of a second level.
  static FLAMBEAU_INLINE void take_long(const Fold& fold, A& result, const Loaded<In>*& x,
                                        int64_t& count) {
    A total[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) total[j] = fold.init();
    while (count >= kLanes) {
      A lane[kLanes];
      const int64_t steps = std::min(count / kLanes, kSteps);
      for (int64_t j = 0; j < kLanes; ++j) lane[j] = fold.init();
      for (int64_t i = 0; i < steps; ++i, x += kLanes) {
        for (int64_t j = 0; j < kLanes; j += kLine) __builtin_prefetch(x + j + kAhead);
#pragma omp simd
        for (int64_t j = 0; j < kLanes; ++j) lane[j] = fold.step(lane[j], In(x[j]));
      }
      count -= steps * kLanes;
#pragma omp simd
      for (int64_t j = 0; j < kLanes; ++j) total[j] = fold.combine(total[j], lane[j]);
    }
    halve<kLanes / 2>(fold, total);
    result = fold.combine(result, total[0]);
  }

  static void rows(const void* object, void* accumulators, const char* data, int64_t count,
                   int64_t rows, int64_t stride) {
    const Fold fold = get(object);
    A* const acc = static_cast<A*>(accumulators);
    for (int64_t r = 0; r < rows; ++r, data += stride) {
      const Loaded<In>* x = reinterpret_cast<const Loaded<In>*>(data);
      int64_t left = count;
      A result = fold.init();
      if (count >= 4 * kLanes) take_long(fold, result, x, left);
      if constexpr (kFewLanes > 4) take<kFewLanes>(fold, result, x, left);
      take<4>(fold, result, x, left);
      for (; left > 0; --left, ++x) result = fold.step(result, In(*x));
      acc[r] = result;
    }
  }

  static void columns(const void* object, void* accumulators, const char* data, int64_t rows,
                      int64_t row_stride, int64_t columns, int64_t column_stride) {
    const Fold fold = get(object);
    A* acc = static_cast<A*>(accumulators);
    const Loaded<In>* x = reinterpret_cast<const Loaded<In>*>(data);
    if (column_stride != 1) {
      for (int64_t c = 0; c < columns; ++c, x += column_stride) {
        A value = acc[c];
        for (int64_t r = 0; r < rows; ++r) value = fold.step(value, In(x[r * row_stride]));
        acc[c] = value;
      }
      return;
    }
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4, x += 4 * row_stride) {
      const Loaded<In>*x0 = x, *x1 = x + row_stride, *x2 = x1 + row_stride, *x3 = x2 + row_stride;
      int64_t c = 0;
      // One statement per row: chains of conditional expressions do not vectorise well.
      for (; c + kLanes <= columns; c += kLanes) {
        A lane[kLanes];
#pragma omp simd
        for (int64_t j = 0; j < kLanes; ++j) lane[j] = fold.step(acc[c + j], In(x0[c + j]));
#pragma omp simd
        for (int64_t j = 0; j < kLanes; ++j) lane[j] = fold.step(lane[j], In(x1[c + j]));
#pragma omp simd
        for (int64_t j = 0; j < kLanes; ++j) lane[j] = fold.step(lane[j], In(x2[c + j]));
#pragma omp simd
        for (int64_t j = 0; j < kLanes; ++j) acc[c + j] = fold.step(lane[j], In(x3[c + j]));
      }
      for (const Loaded<In>* row : {x0, x1, x2, x3}) {
#pragma omp simd
        for (int64_t j = c; j < columns; ++j) acc[j] = fold.step(acc[j], In(row[j]));
      }
    }
    for (; r < rows; ++r, x += row_stride) {
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) acc[c] = fold.step(acc[c], In(x[c]));
    }
  }

  /// Columns [at, at + count) of few rows; a constant `count` keeps the lanes in registers.
  template <class Count>
  static FLAMBEAU_INLINE void take_few(const Fold& fold, char* const* results, const Loaded<In>* x,
                                       int64_t rows, int64_t row_stride, int64_t at, Count count) {
    A lane[kLanes];
#pragma omp simd
    for (int64_t j = 0; j < count; ++j) lane[j] = fold.step(fold.init(), In(x[at + j]));
    for (int64_t r = 1; r < rows; ++r) {
      const Loaded<In>* const row = x + r * row_stride + at;
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) lane[j] = fold.step(lane[j], In(row[j]));
    }
    finish_each(fold, results, at, lane, count, rows, std::index_sequence_for<Out...>{});
  }

  static void few(const void* object, char* const* results, const char* data, int64_t rows,
                  int64_t row_stride, int64_t columns) {
    const Fold fold = get(object);
    const Loaded<In>* const x = reinterpret_cast<const Loaded<In>*>(data);
    int64_t at = 0;
    for (; at + kLanes <= columns; at += kLanes)
      take_few(fold, results, x, rows, row_stride, at, std::integral_constant<int64_t, kLanes>());
    if (at < columns) take_few(fold, results, x, rows, row_stride, at, columns - at);
  }

  static void combine(const void* object, void* a, const void* b, int64_t count) {
    const Fold fold = get(object);
    A* to = static_cast<A*>(a);
    const A* from = static_cast<const A*>(b);
    for (int64_t i = 0; i < count; ++i) to[i] = fold.combine(to[i], from[i]);
  }

  static void finish(const void* object, char* const* results, const void* accumulators,
                     int64_t count, int64_t reduced) {
    const A* acc = static_cast<const A*>(accumulators);
    finish_each(get(object), results, 0, acc, count, reduced, std::index_sequence_for<Out...>{});
  }
  /// Results [at, at + count).
  template <class Count, size_t... o>
  static FLAMBEAU_INLINE void finish_each(const Fold fold, char* const* results, int64_t at,
                                          const A* acc, Count count, int64_t reduced,
                                          std::index_sequence<o...>) {
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (sizeof...(Out) == 1) {
        ((reinterpret_cast<Out*>(results[o])[at + i] =
              static_cast<Out>(fold.finish(acc[i], reduced))),
         ...);
      } else {
        fold.finish(acc[i], reduced, reinterpret_cast<Out*>(results[o])[at + i]...);
      }
    }
  }
};

template <class In, class Fold, class... Out>
void reduce(const Reduction& reduction, const Fold& fold, int64_t cost, Outs<Out...>) {
  using Impl = FoldImpl<Fold, Outs<Compute<Out>...>, Compute<In>>;
  static constexpr OperandKind outputs[] = {kind_of<Out>(false, true)...};
  static constexpr FoldLoops loops{sizeof(typename Fold::Accumulator),
                                   kind_of<In>(true, false),
                                   outputs,
                                   static_cast<int>(sizeof...(Out)),
                                   &Impl::init,
                                   &Impl::rows,
                                   &Impl::columns,
                                   &Impl::few,
                                   &Impl::combine,
                                   &Impl::finish};
  run_reduce(reduction, loops, &fold, cost);
}

}  // namespace detail

template <class Out, class In, class Fold>
void reduce(const Reduction& reduction, const Fold& fold, int64_t cost = 1) {
  detail::reduce<In>(reduction, fold, cost, AsOuts<Out>{});
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
