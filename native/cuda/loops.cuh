#pragma once

/// The loops that pointwise kernels run in on a GPU. A kernel gives a formula on elements;
/// broadcasting, strides, conversion of half types and random numbers happen here. What is
/// generated describes a kernel, as core/types/kernel_types.h says; kernels by hand call map():
///
///     map<Types<Outs<float>, Ins<float, float>>, Returns, 2>(
///         iter, [=] __device__(float a, float b) { return a + alpha * b; });
///
/// Returns: the formula takes the inputs by value in compute types and returns the one output.
/// Assigns: it takes every output by reference, then the inputs; a reference to an InOut holds the
/// old value on entry, other outputs hold nothing. Draws stand between outputs and inputs:
///
///     map_random<Types<Outs<float, bool>, Ins<float>, Draws<Uniform<float>>>, Assigns, 4>(
///         iter, parameters.stream, [=] __device__(float& result, bool& mask, float uniform_0,
///         float x) {...});
///
/// map_indexed passes the element's position in the iterator's order (int64_t) first. The third
/// template argument is the price of one element relative to an addition: dear formulas are
/// unrolled less, since they do not wait for memory.
///
/// How it works: one kernel per formula and operand types. Dense aligned operands are read and
/// written in groups of up to 16 bytes; what is left over, and every other layout, is walked
/// element by element with offsets computed from the merged geometry. An operand of one element is
/// read from memory or, for a number, from the kernel's arguments. A thread reads all inputs of its
/// elements before it writes, so an input may be an output's very memory.

#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include "core/types/kernel_types.h"
#include "cuda/device.h"
#include "cuda/launch.cuh"
#include "cuda/layout.h"
#include "cuda/random.cuh"
#include "cuda/types.cuh"

namespace flambeau::cuda {

template <class Outputs, class Inputs, class Drawn = Draws<>>
struct Types {};

/// A formula whose dear part some elements skip: threads side by side do so by themselves.
template <class Needs, class Rest, class Whole>
Whole skipping(const Needs&, const Rest&, const Whole& whole) {
  return whole;
}

enum class Form : uint8_t { returns, assigns };
inline constexpr Form Returns = Form::returns, Assigns = Form::assigns;

namespace detail {

inline constexpr int kThreads = 256;
/// Blocks per multiprocessor: several times what is resident, so that the last ones even out.
inline constexpr int kBlocksPerProcessor = 32;
/// Formulas from this cost on are bound by arithmetic.
inline constexpr int kDearCost = 20;

template <class T>
struct OutTraits {
  using Storage = T;
  static constexpr bool is_read = false;
};
template <class T>
struct OutTraits<InOut<T>> {
  using Storage = T;
  static constexpr bool is_read = true;
};

template <class T, int kCount>
struct Array {
  T values[kCount];
};

/// A tuple that device code can use; `I` tells equal types apart.
template <size_t I, class T>
struct Cell {
  T value;
};
template <class Sequence, class... T>
struct CellsOf;
template <size_t... I, class... T>
struct CellsOf<std::index_sequence<I...>, T...> : Cell<I, T>... {};
template <class... T>
using Cells = CellsOf<std::index_sequence_for<T...>, T...>;
template <size_t I, class T>
__device__ __forceinline__ T& get(Cell<I, T>& cell) {
  return cell.value;
}

/// What one load or store instruction moves.
template <int kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = uint8_t;
};
template <>
struct WordOf<2> {
  using type = uint16_t;
};
template <>
struct WordOf<4> {
  using type = uint32_t;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};

template <class T, int kCount>
__device__ __forceinline__ void load_group(T* values, const char* data) {
  using Word = typename WordOf<sizeof(T) * kCount>::type;
  const Word word = *reinterpret_cast<const Word*>(data);
  memcpy(static_cast<void*>(values), &word, sizeof word);
}
template <class T, int kCount>
__device__ __forceinline__ void store_group(char* data, const T* values) {
  typename WordOf<sizeof(T) * kCount>::type word;
  memcpy(&word, static_cast<const void*>(values), sizeof word);
  *reinterpret_cast<decltype(word)*>(data) = word;
}
template <class T>
__device__ __forceinline__ T read_number(const Number& number) {
  T value;
  memcpy(static_cast<void*>(&value), number.bytes, sizeof value);
  return value;
}

template <class Types, Form kForm, bool kIndexed, int kCost>
struct Map;
template <class... O, class... I, class... D, Form kForm, bool kIndexed, int kCost>
struct Map<Types<Outs<O...>, Ins<I...>, Draws<D...>>, kForm, kIndexed, kCost> {
  static constexpr int kOuts = sizeof...(O), kIns = sizeof...(I), kOperands = kOuts + kIns;
  static constexpr int kLargest =
      static_cast<int>(std::max({sizeof(typename OutTraits<O>::Storage)..., sizeof(I)...}));
  static constexpr int kVector = std::min(16 / kLargest, kCost >= kDearCost ? 4 : 8);
  /// Elements of one thread at a time where groups cannot be read.
  static constexpr int kSingles = kCost >= kDearCost ? 1 : kOperands <= 4 ? 4 : 2;
  static constexpr uint8_t kBytes[] = {sizeof(typename OutTraits<O>::Storage)..., sizeof(I)...};
  static_assert(kForm == Form::assigns || kOuts == 1, "several outputs are assigned");
  static_assert(kOuts > 0 && kOperands <= Iterator::kMaxOperands && kLargest <= 16);
  using OutSequence = std::index_sequence_for<O...>;
  using InSequence = std::index_sequence_for<I...>;
  using DrawSequence = std::index_sequence_for<D...>;
  using LayoutType = Layout<kOperands>;

  template <int kCount>
  struct Elements {
    Cells<Array<typename OutTraits<O>::Storage, kCount>...> outs;
    Cells<Array<I, kCount>...> ins;
    Cells<Array<typename D::Value, kCount>...> draws;
  };

  template <class Formula>
  static __device__ __forceinline__ void run(const LayoutType& layout, const RandomStream& stream,
                                             const Formula& formula) {
    const uint32_t thread = blockIdx.x * kThreads + threadIdx.x, threads = gridDim.x * kThreads;
    for (uint32_t group = thread; group < layout.vectors; group += threads) {
      Elements<kVector> elements;
      const uint32_t index = group * kVector;
      load_groups(elements, layout, group, OutSequence{}, InSequence{});
      draw(elements, stream, layout.first + index, DrawSequence{});
#pragma unroll
      for (int j = 0; j < kVector; ++j)
        compute(elements, j, layout.first + index + j, formula, OutSequence{}, InSequence{},
                DrawSequence{});
      store_groups(elements, layout, group, OutSequence{});
    }
    const uint32_t begin = layout.vectors * kVector;
    for (uint32_t start = begin + blockIdx.x * kThreads * kSingles + threadIdx.x;
         start < layout.count; start += threads * kSingles) {
      Elements<1> elements[kSingles];
      int32_t offsets[kSingles][kOperands];
#pragma unroll
      for (int b = 0; b < kSingles; ++b) {
        const uint32_t index = start + b * kThreads;
        if (index >= layout.count) break;
        find_offsets(layout, index, offsets[b]);
        load_single(elements[b], layout, offsets[b], OutSequence{}, InSequence{});
      }
#pragma unroll
      for (int b = 0; b < kSingles; ++b) {
        const uint32_t index = start + b * kThreads;
        if (index >= layout.count) break;
        draw(elements[b], stream, layout.first + index, DrawSequence{});
        compute(elements[b], 0, layout.first + index, formula, OutSequence{}, InSequence{},
                DrawSequence{});
        store_single(elements[b], layout, offsets[b], OutSequence{});
      }
    }
  }

 private:
  static __device__ __forceinline__ void find_offsets(const LayoutType& layout, uint32_t index,
                                                      int32_t* offsets) {
#pragma unroll
    for (int i = 0; i < kOperands; ++i) offsets[i] = 0;
    const int last = layout.rank - 1;
#pragma unroll 1
    for (int d = 0; d < last; ++d) {
      const uint32_t quotient = layout.extents[d].divide(index);
      const int32_t rest = static_cast<int32_t>(index - quotient * layout.extents[d].divisor);
#pragma unroll
      for (int i = 0; i < kOperands; ++i) offsets[i] += rest * layout.strides[d][i];
      index = quotient;
    }
#pragma unroll
    for (int i = 0; i < kOperands; ++i)
      offsets[i] += static_cast<int32_t>(index) * layout.strides[last][i];
  }

  template <class T, int kCount>
  static __device__ __forceinline__ void load_input(Array<T, kCount>& values,
                                                    const LayoutType& layout, uint32_t group,
                                                    int operand) {
    if ((layout.repeated >> operand & 1) == 0) {
      load_group<T, kCount>(values.values,
                            layout.data[operand] + int64_t{group} * (sizeof(T) * kCount));
      return;
    }
    const T value = (layout.by_value >> operand & 1) != 0
                        ? read_number<T>(layout.numbers[operand])
                        : *reinterpret_cast<const T*>(layout.data[operand]);
#pragma unroll
    for (int j = 0; j < kCount; ++j) values.values[j] = value;
  }
  template <class E, size_t... o, size_t... i>
  static __device__ __forceinline__ void load_groups(E& elements, const LayoutType& layout,
                                                     uint32_t group, std::index_sequence<o...>,
                                                     std::index_sequence<i...>) {
    (load_input<I, kVector>(get<i>(elements.ins), layout, group, kOuts + static_cast<int>(i)), ...);
    (load_old<O, kVector>(get<o>(elements.outs),
                          layout.data[o] + int64_t{group} * (kBytesOf<O> * kVector)),
     ...);
  }
  template <class Out>
  static constexpr int kBytesOf = sizeof(typename OutTraits<Out>::Storage);

  template <class Out, int kCount, class Values>
  static __device__ __forceinline__ void load_old(Values& values, const char* data) {
    if constexpr (OutTraits<Out>::is_read)
      load_group<typename OutTraits<Out>::Storage, kCount>(values.values, data);
  }
  template <class E, size_t... o>
  static __device__ __forceinline__ void store_groups(E& elements, const LayoutType& layout,
                                                      uint32_t group, std::index_sequence<o...>) {
    (store_group<typename OutTraits<O>::Storage, kVector>(
         layout.data[o] + int64_t{group} * (kBytesOf<O> * kVector), get<o>(elements.outs).values),
     ...);
  }

  template <class T>
  static __device__ __forceinline__ T read_single(const LayoutType& layout, int32_t offset,
                                                  int operand) {
    return (layout.by_value >> operand & 1) != 0
               ? read_number<T>(layout.numbers[operand])
               : *reinterpret_cast<const T*>(layout.data[operand] + offset);
  }
  template <size_t... o, size_t... i>
  static __device__ __forceinline__ void load_single(Elements<1>& elements,
                                                     const LayoutType& layout,
                                                     const int32_t* offsets,
                                                     std::index_sequence<o...>,
                                                     std::index_sequence<i...>) {
    ((get<i>(elements.ins).values[0] =
          read_single<I>(layout, offsets[kOuts + i], kOuts + static_cast<int>(i))),
     ...);
    (load_old<O, 1>(get<o>(elements.outs), layout.data[o] + offsets[o]), ...);
  }
  template <size_t... o>
  static __device__ __forceinline__ void store_single(Elements<1>& elements,
                                                      const LayoutType& layout,
                                                      const int32_t* offsets,
                                                      std::index_sequence<o...>) {
    (store_group<typename OutTraits<O>::Storage, 1>(layout.data[o] + offsets[o],
                                                    get<o>(elements.outs).values),
     ...);
  }

  template <int kCount, size_t... d>
  static __device__ __forceinline__ void draw(Elements<kCount>& elements,
                                              const RandomStream& stream, uint64_t index,
                                              std::index_sequence<d...>) {
    (draw_run<D, kCount>(stream, index, static_cast<uint32_t>(d), get<d>(elements.draws).values),
     ...);
  }

  template <class T>
  static __device__ __forceinline__ Compute<T> widen(const T& value) {
    return static_cast<Compute<T>>(value);
  }
  template <int kCount, class Formula, size_t... o, size_t... i, size_t... d>
  static __device__ __forceinline__ void compute(Elements<kCount>& elements, int j, uint64_t index,
                                                 const Formula& formula, std::index_sequence<o...>,
                                                 std::index_sequence<i...>,
                                                 std::index_sequence<d...>) {
    Cells<Compute<typename OutTraits<O>::Storage>...> outs;
    ((get<o>(outs) = OutTraits<O>::is_read ? widen(get<o>(elements.outs).values[j])
                                           : Compute<typename OutTraits<O>::Storage>()),
     ...);
    if constexpr (kForm == Form::assigns && kIndexed) {
      formula(static_cast<int64_t>(index), get<o>(outs)..., get<d>(elements.draws).values[j]...,
              widen(get<i>(elements.ins).values[j])...);
    } else if constexpr (kForm == Form::assigns) {
      formula(get<o>(outs)..., get<d>(elements.draws).values[j]...,
              widen(get<i>(elements.ins).values[j])...);
    } else if constexpr (kIndexed) {
      ((get<o>(outs) = static_cast<Compute<typename OutTraits<O>::Storage>>(
            formula(static_cast<int64_t>(index), get<d>(elements.draws).values[j]...,
                    widen(get<i>(elements.ins).values[j])...))),
       ...);
    } else {
      ((get<o>(outs) = static_cast<Compute<typename OutTraits<O>::Storage>>(formula(
            get<d>(elements.draws).values[j]..., widen(get<i>(elements.ins).values[j])...))),
       ...);
    }
    ((get<o>(elements.outs).values[j] = narrow<typename OutTraits<O>::Storage>(get<o>(outs))), ...);
  }
};

template <class M, class Formula>
__global__ void __launch_bounds__(kThreads)
    map_kernel(const __grid_constant__ typename M::LayoutType layout, const RandomStream stream,
               const __grid_constant__ Formula formula) {
  M::run(layout, stream, formula);
}

/// Blocks for `work` threads' worth of elements.
inline unsigned blocks_for(int64_t work, int device) {
  const int64_t most = int64_t{limits(device).processors} * kBlocksPerProcessor;
  return static_cast<unsigned>(std::clamp<int64_t>((work + kThreads - 1) / kThreads, 1, most));
}

template <class M, class Formula>
void launch(const Iterator& iter, const Formula& formula, const RandomStream& random) {
  if (iter.numel() == 0) return;
  const int device = iter.device().index;
  const DeviceGuard guard(device);
  const cudaStream_t stream = current_stream(device);
  for (Pieces pieces(iter); pieces.next();) {
    typename M::LayoutType layout;
    pieces.lay_out(layout, layout.data, layout.numbers, &layout.strides[0][0], M::kBytes,
                   M::kVector);
    const int64_t singles = layout.count - int64_t{layout.vectors} * M::kVector;
    const int64_t work =
        std::max<int64_t>(layout.vectors, (singles + M::kSingles - 1) / M::kSingles);
    launch_kernel(iter.op(), map_kernel<M, Formula>, blocks_for(work, device), kThreads, stream,
                  layout, random, formula);
  }
}

}  // namespace detail

template <class Types, Form kForm, int kCost = 1, class Formula>
void map(const Iterator& iter, const Formula& formula) {
  detail::launch<detail::Map<Types, kForm, false, kCost>>(iter, formula, {});
}

template <class Types, Form kForm, int kCost = 1, class Formula>
void map_indexed(const Iterator& iter, const Formula& formula) {
  detail::launch<detail::Map<Types, kForm, true, kCost>>(iter, formula, {});
}

template <class Types, Form kForm, int kCost = 4, class Formula>
void map_random(const Iterator& iter, const RandomStream& stream, const Formula& formula) {
  detail::launch<detail::Map<Types, kForm, false, kCost>>(iter, formula, stream);
}

namespace detail {

template <class Outputs>
inline constexpr Form kFormOf = Assigns;
template <class Out>
inline constexpr Form kFormOf<Outs<Out>> = Returns;
template <class Out>
inline constexpr Form kFormOf<Outs<InOut<Out>>> = Assigns;

/// What a described kernel hands its formula to, for elements of type Stored in memory. It has a
/// name: a __device__ lambda may not stand in a template over types that have none.
template <class Kernel, class Stored>
struct Mapping {
  const Iterator& iter;
  const RandomStream& stream;

  template <class Formula>
  void operator()(const Formula& formula) const {
    using Operands = Types<OperandsOf<typename Kernel::Outputs, Stored>,
                           OperandsOf<typename Kernel::Inputs, Stored>,
                           OperandsOf<typename Kernel::Drawn, Stored>>;
    launch<Map<Operands, kFormOf<typename Kernel::Outputs>, false, Kernel::cost>>(iter, formula,
                                                                                  stream);
  }
};

}  // namespace detail

}  // namespace flambeau::cuda
