#pragma once

/// The loops that reduction kernels run in on a GPU. A kernel gives a fold: how an accumulator
/// starts, takes an element, meets another accumulator and becomes a result. What is generated
/// describes one, as core/types/kernel_types.h says; folds by hand are given to reduce():
///
///     reduce<float, float16>(reduction, MeanFold<float>{});
///
/// Several results: reduce<Outs<float, float>, float>(...) and
/// `void finish(A acc, int64_t n, float& variance, float& mean) const`. The fold sees compute
/// types; combine(init(), a) == a, step and combine are commutative and associative up to rounding.
///
/// The order of evaluation depends on the geometry and on the device, never on timing: no atomics,
/// so results repeat bit for bit.

#include <cuda_runtime.h>

#include <type_traits>

#include "core/tensor/tensor.h"
#include "cuda/device.h"
#include "cuda/fold_plan.h"
#include "cuda/launch.cuh"
#include "cuda/loops.cuh"
#include "cuda/types.cuh"

namespace flambeau::cuda {
namespace detail {

/// Threads that read together.
inline constexpr int kWarp = 32;

/// Splits an index over dims and adds up byte offsets.
template <class Visit>
__device__ __forceinline__ void for_dims(const FoldDims& dims, bool is_wide, int64_t index,
                                         const Visit& visit) {
  if (dims.rank == 0) return;
  const int last = dims.rank - 1;
  if (is_wide) {
#pragma unroll 1
    for (int d = 0; d < last; ++d) {
      const int64_t quotient = index / dims.extents[d];
      visit(d, index - quotient * dims.extents[d]);
      index = quotient;
    }
    visit(last, index);
  } else {
    uint32_t rest = static_cast<uint32_t>(index);
#pragma unroll 1
    for (int d = 0; d < last; ++d) {
      const uint32_t quotient = dims.dividers[d].divide(rest);
      visit(d, int64_t{rest - quotient * dims.dividers[d].divisor});
      rest = quotient;
    }
    visit(last, int64_t{rest});
  }
}

template <class Fold, class In, class... Out>
struct FoldKernel {
  using A = typename Fold::Accumulator;
  using T = Compute<In>;
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= 64);
  static constexpr int kVector = 16 / static_cast<int>(sizeof(In)) > 8
                                     ? 8
                                     : 16 / static_cast<int>(sizeof(In));
  /// Independent accumulators of a thread that reads element by element.
  static constexpr int kLanes = 4;

  static __device__ __forceinline__ int64_t reduced_offset(const FoldPlan& plan, int64_t index) {
    if (plan.reduced.rank == 1) return index * plan.reduced.input[0];
    int64_t offset = 0;
    for_dims(plan.reduced, plan.is_wide, index,
             [&](int d, int64_t i) { offset += i * plan.reduced.input[d]; });
    return offset;
  }

  template <int kCount>
  static __device__ __forceinline__ A merged(const Fold& fold, A* lanes) {
#pragma unroll
    for (int width = kCount / 2; width > 0; width /= 2) {
#pragma unroll
      for (int j = 0; j < width; ++j) lanes[j] = fold.combine(lanes[j], lanes[j + width]);
    }
    return lanes[0];
  }

  /// Reduced elements [begin, end) that belong to row `row`.
  static __device__ __forceinline__ A fold_groups(const FoldPlan& plan, const Fold& fold,
                                                  const char* input, int64_t begin, int64_t end,
                                                  int row) {
    A lanes[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) lanes[j] = fold.init();
    const int64_t whole = begin + (end - begin) / kVector * kVector;
    const int64_t step = int64_t{plan.rows} * kVector;
#pragma unroll 4
    for (int64_t r = begin + row * kVector; r < whole; r += step) {
      In group[kVector];
      load_group<In, kVector>(group, input + r * static_cast<int64_t>(sizeof(In)));
#pragma unroll
      for (int j = 0; j < kVector; ++j) lanes[j] = fold.step(lanes[j], static_cast<T>(group[j]));
    }
    for (int64_t r = whole + row; r < end; r += plan.rows)
      lanes[0] = fold.step(lanes[0], static_cast<T>(reinterpret_cast<const In*>(input)[r]));
    return merged<kVector>(fold, lanes);
  }

  static __device__ __forceinline__ A fold_singles(const FoldPlan& plan, const Fold& fold,
                                                   const char* input, int64_t begin, int64_t end,
                                                   int row) {
    A lanes[kLanes];
#pragma unroll
    for (int j = 0; j < kLanes; ++j) lanes[j] = fold.init();
    for (int64_t r = begin + row; r < end; r += int64_t{plan.rows} * kLanes) {
      In values[kLanes];
#pragma unroll
      for (int j = 0; j < kLanes; ++j) {
        const int64_t index = r + int64_t{j} * plan.rows;
        if (index < end) load_group<In, 1>(&values[j], input + reduced_offset(plan, index));
      }
#pragma unroll
      for (int j = 0; j < kLanes; ++j) {
        if (r + int64_t{j} * plan.rows < end)
          lanes[j] = fold.step(lanes[j], static_cast<T>(values[j]));
      }
    }
    return merged<kLanes>(fold, lanes);
  }

  /// The same of kVector neighbouring outputs.
  static __device__ __forceinline__ void fold_packs(const FoldPlan& plan, const Fold& fold,
                                                    const char* input, int64_t begin, int64_t end,
                                                    int row, A* values) {
#pragma unroll 4
    for (int64_t r = begin + row; r < end; r += plan.rows) {
      In group[kVector];
      load_group<In, kVector>(group, input + reduced_offset(plan, r));
#pragma unroll
      for (int j = 0; j < kVector; ++j) values[j] = fold.step(values[j], static_cast<T>(group[j]));
    }
  }

  /// The accumulators of a column's rows meet in row 0.
  static __device__ __forceinline__ A meet(const Fold& fold, A value, int row, int column, int rows,
                                           int columns) {
    if (rows == 1) return value;
    alignas(16) __shared__ char memory[kFoldThreads * sizeof(A)];
    A* shared = reinterpret_cast<A*>(memory);
    const int own = row * columns + column;
    shared[own] = value;
    __syncthreads();
    for (int width = rows / 2; width > 0; width /= 2) {
      if (row < width) {
        value = fold.combine(value, shared[own + width * columns]);
        shared[own] = value;
      }
      __syncthreads();
    }
    return value;
  }

  static __device__ __forceinline__ void write(const FoldPlan& plan, const Fold& fold, A value,
                                               int64_t output) {
    int64_t offsets[sizeof...(Out)] = {};
    for_dims(plan.kept, plan.is_wide, output, [&](int d, int64_t i) {
#pragma unroll
      for (int o = 0; o < static_cast<int>(sizeof...(Out)); ++o)
        offsets[o] += i * plan.output_strides[o][d];
    });
    write_each(plan, fold, value, offsets, std::index_sequence_for<Out...>{});
  }
  template <size_t... o>
  static __device__ __forceinline__ void write_each(const FoldPlan& plan, const Fold& fold, A value,
                                                    const int64_t* offsets,
                                                    std::index_sequence<o...>) {
    Cells<Compute<Out>...> results;
    if constexpr (sizeof...(Out) == 1) {
      ((get<o>(results) = static_cast<Compute<Out>>(fold.finish(value, plan.count))), ...);
    } else {
      fold.finish(value, plan.count, get<o>(results)...);
    }
    ((*reinterpret_cast<Out*>(plan.outputs[o] + offsets[o]) = narrow<Out>(get<o>(results))), ...);
  }

  static __device__ __forceinline__ void run(const FoldPlan& plan, const Fold& fold, A* partial) {
    const int thread = static_cast<int>(threadIdx.x);
    const int row = plan.rows_adjacent ? thread % plan.rows : thread / plan.columns;
    const int column = plan.rows_adjacent ? thread / plan.rows : thread % plan.columns;
    const int64_t output = int64_t{blockIdx.x} * plan.columns + column;
    const int64_t begin = int64_t{blockIdx.y} * plan.per_split;
    const int64_t end = begin + plan.per_split < plan.count ? begin + plan.per_split : plan.count;
    const auto input_of = [&](int64_t first) {
      int64_t offset = 0;
      for_dims(plan.kept, plan.is_wide, first,
               [&](int d, int64_t i) { offset += i * plan.kept.input[d]; });
      return plan.input + offset;
    };
    const auto keep = [&](A value, int64_t place) {
      if (row != 0 || place >= plan.output_count) return;
      if (plan.splits > 1) {
        partial[int64_t{blockIdx.y} * plan.output_count + place] = value;
      } else {
        write(plan, fold, value, place);
      }
    };
    if (plan.pack == kVector && kVector > 1) {
      const int64_t first = output * kVector;
      A values[kVector];
#pragma unroll
      for (int j = 0; j < kVector; ++j) values[j] = fold.init();
      if (first < plan.output_count)
        fold_packs(plan, fold, input_of(first), begin, end, row, values);
#pragma unroll
      for (int j = 0; j < kVector; ++j)
        keep(meet(fold, values[j], row, column, plan.rows, plan.columns), first + j);
      return;
    }
    A value = fold.init();
    if (output < plan.output_count)
      value = plan.is_vector ? fold_groups(plan, fold, input_of(output), begin, end, row)
                             : fold_singles(plan, fold, input_of(output), begin, end, row);
    keep(meet(fold, value, row, column, plan.rows, plan.columns), output);
  }

  /// Accumulators of the splits: `rows` threads share those of one output.
  static __device__ __forceinline__ void run_second(const FoldPlan& plan, const Fold& fold,
                                                    const A* partial, int rows) {
    const int columns = kFoldThreads / rows, thread = static_cast<int>(threadIdx.x);
    const int row = thread / columns, column = thread % columns;
    const int64_t output = int64_t{blockIdx.x} * columns + column;
    A value = fold.init();
    if (output < plan.output_count) {
      for (int split = row; split < plan.splits; split += rows)
        value = fold.combine(value, partial[int64_t{split} * plan.output_count + output]);
    }
    value = meet(fold, value, row, column, rows, columns);
    if (row == 0 && output < plan.output_count) write(plan, fold, value, output);
  }
};

template <class K, class Fold>
__global__ void __launch_bounds__(kFoldThreads)
    fold_kernel(const __grid_constant__ FoldPlan plan, const __grid_constant__ Fold fold,
                typename Fold::Accumulator* partial) {
  K::run(plan, fold, partial);
}
template <class K, class Fold>
__global__ void __launch_bounds__(kFoldThreads)
    combine_kernel(const __grid_constant__ FoldPlan plan, const __grid_constant__ Fold fold,
                   const typename Fold::Accumulator* partial, int rows) {
  K::run_second(plan, fold, partial, rows);
}

template <class In, class Fold, class... Out>
void reduce(const Reduction& reduction, const Fold& fold, Outs<Out...>) {
  using K = FoldKernel<Fold, In, Out...>;
  using A = typename Fold::Accumulator;
  if (reduction.output_numel() == 0) return;
  const int device = reduction.device().index;
  const DeviceGuard guard(device);
  const cudaStream_t stream = current_stream(device);
  const FoldPlan plan = plan_fold(reduction, K::kVector);
  const int64_t outputs = int64_t{plan.columns} * plan.pack;  // of a block
  const auto blocks = static_cast<unsigned>((plan.output_count + outputs - 1) / outputs);
  Tensor memory;
  if (plan.splits > 1) {
    const int64_t bytes = plan.output_count * plan.splits * static_cast<int64_t>(sizeof(A));
    memory = empty(Shape{bytes}, DType::uint8, reduction.device());
  }
  A* partial = memory.defined() ? static_cast<A*>(memory.raw_data()) : nullptr;
  const dim3 first(blocks, static_cast<unsigned>(plan.splits));
  launch_kernel(reduction.op(), fold_kernel<K, Fold>, first, kFoldThreads, stream, plan, fold,
                partial);
  if (plan.splits == 1) return;
  // Neighbouring threads read accumulators of neighbouring outputs where there are any.
  int neighbours = 1, rows = 1;
  while (neighbours < plan.output_count && neighbours < kWarp) neighbours *= 2;
  while (rows < plan.splits && rows < kFoldThreads / neighbours) rows *= 2;
  const int columns = kFoldThreads / rows;
  const auto second = static_cast<unsigned>((plan.output_count + columns - 1) / columns);
  launch_kernel(reduction.op(), combine_kernel<K, Fold>, second, kFoldThreads, stream, plan, fold,
                partial, rows);
}

}  // namespace detail

template <class Out, class In, class Fold>
void reduce(const Reduction& reduction, const Fold& fold) {
  detail::reduce<In>(reduction, fold, AsOuts<Out>{});
}

}  // namespace flambeau::cuda
