#pragma once

/// The loops that pointwise kernels run in. A kernel gives a formula on elements; everything else
/// (broadcasting, strides, conversion of half types, random numbers, threads) happens here.
/// Included by units that are compiled once per instruction set (-DFLAMBEAU_ISA=baseline|avx2|
/// avx512). What is generated describes a kernel, as core/types/kernel_types.h says;
/// kernels by hand call map():
///
///     map<Outs<float>, Ins<float, float>>(iter, [=](float a, float b) { return a + alpha * b; });
///
/// Operand types are those of the iterator, outputs first. The formula takes the inputs by value in
/// compute types and returns the output, which is converted to its type with static_cast:
///
///     map<Outs<bool>, Ins<float, float>>(iter, [](float a, float b) { return a < b; });
///
/// Several outputs, or outputs that are also read (`Tensor(mut)`: InOut<T>, Iterator::add_in_out):
/// the formula returns void and takes every output by reference, then the inputs. A reference to
/// an InOut holds the old value on entry; other outputs hold nothing.
///
///     map<Outs<InOut<float>, float>, Ins<float>>(
///         iter, [=](float& param, float& norm, float grad) { ... });
///
/// Random numbers: each `uniform()`, `normal()`... of the formula is a draw, declared in order and
/// passed between outputs and inputs. `stream` comes from Generator::reserve(counters_for(numel)).
///
///     map_random<Outs<float, bool>, Draws<Uniform<float>>, Ins<float>>(
///         iter, parameters.stream,
///         [=](float& result, bool& mask, float uniform_0, float input) {
///           mask = uniform_0 >= p;
///           result = mask ? input * scale : 0;
///         });
///
/// Draws: Uniform<float|double> in [0, 1), Normal<float|double>, Bits (uint64_t).
/// Formulas that need the element's position in the iterator's order take it as the first argument:
///
///     map_indexed<Outs<float>, Ins<>>(iter, [=](int64_t index) { return start + step * index; });
///
/// `cost` is the price of one element in instructions of vectors (exp: 8, pow: 128); it decides how
/// many elements are worth a thread.
///
/// How it works: a formula is compiled into one loop over dense operands. The driver
/// (loops.simd.cpp, shared by all formulas) calls it once when all operands are dense; otherwise it
/// cuts the elements into chunks that fit the first-level cache and gives the loop buffers for what
/// is not dense: numbers repeated, strided or half elements gathered and converted, random numbers.

#include <tuple>
#include <type_traits>
#include <utility>

#include "core/iteration/iterator.h"
#include "core/random/random.h"
#include "core/types/element_types.h"
#include "core/types/kernel_types.h"

#ifndef FLAMBEAU_ISA
#error "cpu/loops.h belongs in units that are compiled per instruction set"
#endif

/// A statement for each k in [0, count), several vectors at a time: 1, 2 or 4, known when
/// compiling.
#define FLAMBEAU_EACH(vectors, count, ...)                                     \
  if constexpr ((vectors) == 4) {                                              \
    _Pragma("GCC unroll 4") for (int64_t k = 0; k < (count); ++k) __VA_ARGS__; \
  } else if constexpr ((vectors) == 2) {                                       \
    _Pragma("GCC unroll 2") for (int64_t k = 0; k < (count); ++k) __VA_ARGS__; \
  } else {                                                                     \
    for (int64_t k = 0; k < (count); ++k) __VA_ARGS__;                         \
  }

namespace flambeau::cpu::FLAMBEAU_ISA {

namespace detail {

enum class Conversion : uint8_t { none, from_float16, from_bfloat16 };
enum class DrawKind : uint8_t { uniform_float, uniform_double, normal_float, normal_double, bits };

/// What the driver has to know about an operand.
struct OperandKind {
  uint8_t bytes;          ///< of an element in memory
  uint8_t compute_bytes;  ///< of an element as the formula sees it
  Conversion conversion;
  bool read, written;
};

/// data: one dense run per operand, then one per draw. `index`: of the first element.
using DenseLoop = void (*)(const void* formula, char* const* data, int64_t index, int64_t count);

inline constexpr int kRepeatingLoops = 7;
struct MapPlan {
  DenseLoop loop;
  const OperandKind* operands;
  const DrawKind* draws;
  int operand_count, draw_count;
  bool indexed;  ///< the order of elements matters
  /// Of cheap formulas of two and three inputs: loops that read one element of some of these again
  /// and again. By the inputs that repeat, a bit of each; null where there are none.
  const DenseLoop* repeating = nullptr;
  /// Of cheap formulas: loops over bfloat16 that convert what they read and write on the way. By
  /// the inputs that repeat, the first of none.
  const DenseLoop* bfloat16 = nullptr;
};

void run_map(const Iterator& iter, const MapPlan& plan, const void* formula, int64_t cost,
             const RandomStream& stream);

/// How many vectors of a formula in T are under way at a time, which hides the latency of their
/// steps where registers hold them. The steps of integers are short, and what is complex is often
/// computed number by number, of which more copies are only larger.
#ifdef __AVX512F__
template <class T>
inline constexpr int kVectors = std::is_same_v<T, float>    ? 4
                                : std::is_same_v<T, double> ? 2
                                                            : 1;
#else
template <class T>
inline constexpr int kVectors = 1;
#endif

template <class T>
struct Traits {
  using Value = Compute<T>;
  static constexpr bool read = false;
  using Storage = T;
};
template <class T>
struct Traits<InOut<T>> {
  using Value = Compute<T>;
  static constexpr bool read = true;
  using Storage = T;
};

template <class T>
constexpr OperandKind kind_of(bool read, bool written) {
  constexpr Conversion conversion = std::is_same_v<T, float16>    ? Conversion::from_float16
                                    : std::is_same_v<T, bfloat16> ? Conversion::from_bfloat16
                                                                  : Conversion::none;
  return {sizeof(T), sizeof(Compute<T>), conversion, read, written};
}

template <class T>
constexpr DrawKind draw_of(Uniform<T>) {
  return std::is_same_v<T, float> ? DrawKind::uniform_float : DrawKind::uniform_double;
}
template <class T>
constexpr DrawKind draw_of(Normal<T>) {
  return std::is_same_v<T, float> ? DrawKind::normal_float : DrawKind::normal_double;
}
constexpr DrawKind draw_of(Bits) { return DrawKind::bits; }

template <class Outputs, class Draws, class Inputs>
struct Kinds;
template <class... O, class... D, class... I>
struct Kinds<Outs<O...>, Draws<D...>, Ins<I...>> {
  // One entry more than needed, so that no array is empty.
  static constexpr OperandKind operands[] = {
      kind_of<typename Traits<O>::Storage>(Traits<O>::read, true)..., kind_of<I>(true, false)...,
      OperandKind{}};
  static constexpr DrawKind draws[] = {draw_of(D{})..., DrawKind{}};
  static constexpr MapPlan plan{nullptr,      operands, draws, sizeof...(O) + sizeof...(I),
                                sizeof...(D), false};
};

/// A formula whose dear part only elements need for which `needs` holds; `rest` is the formula of
/// the others.
template <class Needs, class Rest, class Whole>
struct Skipping {
  Needs needs;
  Rest rest;
  Whole whole;
  template <class... T>
  requires(std::is_invocable_v<const Whole&, T...>) FLAMBEAU_INLINE auto operator()(T... x) const {
    return whole(x...);
  }
};

/// The one loop that is compiled per formula and set of compute types. An input may share the
/// memory of an output, at the same index. `vectors`: how many are under way.
template <bool indexed, int vectors, class Formula, class Outputs, class Drawn, class Inputs>
struct Loop;
template <bool indexed, int vectors, class Formula, class... O, class... D, class... I>
struct Loop<indexed, vectors, Formula, Outs<O...>, Draws<D...>, Ins<I...>> {
  static void run(const void* object, char* const* data, int64_t index, int64_t count) {
    run(*static_cast<const Formula*>(object), data, index, count, std::index_sequence_for<O...>{},
        std::index_sequence_for<D...>{}, std::index_sequence_for<I...>{});
  }
  template <size_t... o, size_t... d, size_t... i>
  static FLAMBEAU_INLINE void run(const Formula& formula, char* const* data, int64_t index,
                                  int64_t count, std::index_sequence<o...>,
                                  std::index_sequence<d...>, std::index_sequence<i...>) {
    constexpr size_t kIns = sizeof...(O), kDraws = kIns + sizeof...(I);
    loop(formula, index, count, reinterpret_cast<O*>(data[o])...,
         reinterpret_cast<const D*>(data[kDraws + d])...,
         reinterpret_cast<const Loaded<I>*>(data[kIns + i])...);
  }
  template <class Part>
  static FLAMBEAU_INLINE void part(Part formula, int64_t count, O* __restrict... outs,
                                   const Loaded<I>* __restrict... ins) {
    for (int64_t k = 0; k < count; ++k)
      ((outs[k] = static_cast<O>(formula(static_cast<I>(ins[k])...))), ...);
  }
  /// A few vectors are asked together whether an element needs what is dear. Where one does, the
  /// next ones are not asked, so that elements of both kinds side by side take no longer.
  static FLAMBEAU_INLINE void skipping(Formula formula, int64_t count, O*... outs,
                                       const Loaded<I>*... ins) {
    constexpr int64_t kAsked = 64, kUnasked = 512;
    using Word = std::conditional_t<(sizeof(O) + ...) == 8, int64_t, int32_t>;
    for (int64_t begin = 0; begin < count;) {
      const int64_t left = count - begin, asked = left < kAsked ? left : kAsked;
      Word needed = 0;
      for (int64_t k = begin; k < begin + asked; ++k)
        needed |= formula.needs(static_cast<I>(ins[k])...) ? Word(-1) : Word(0);
      if (needed != 0) {
        const int64_t whole = left < kUnasked ? left : kUnasked;
        part(formula.whole, whole, (outs + begin)..., (ins + begin)...);
        begin += whole;
      } else {
        part(formula.rest, asked, (outs + begin)..., (ins + begin)...);
        begin += asked;
      }
    }
  }

  /// For a formula of one output. Its only store to an element needs every load of that element,
  /// so that `__restrict` promises nothing untrue of an input that is the output.
  static FLAMBEAU_INLINE void single(Formula formula, int64_t count, O* __restrict... outs,
                                     const D* __restrict... drawn,
                                     const Loaded<I>* __restrict... ins) {
    FLAMBEAU_EACH(
        vectors, count,
        ((outs[k] = static_cast<O>(formula(drawn[k]..., static_cast<I>(ins[k])...))), ...))
  }
  static FLAMBEAU_INLINE void loop(Formula formula, [[maybe_unused]] int64_t index, int64_t count,
                                   O*... outs, const D*... drawn, const Loaded<I>*... ins) {
    if constexpr (indexed && std::is_invocable_v<Formula, int64_t, O&..., D..., I...>) {
#pragma GCC ivdep
      for (int64_t k = 0; k < count; ++k)
        formula(index + k, outs[k]..., drawn[k]..., static_cast<I>(ins[k])...);
    } else if constexpr (indexed) {
#pragma GCC ivdep
      for (int64_t k = 0; k < count; ++k)
        ((outs[k] = static_cast<O>(formula(index + k, drawn[k]..., static_cast<I>(ins[k])...))),
         ...);
    } else if constexpr (std::is_invocable_v<Formula, O&..., D..., I...>) {
#pragma GCC ivdep
      for (int64_t k = 0; k < count; ++k)
        formula(outs[k]..., drawn[k]..., static_cast<I>(ins[k])...);
    } else {
      static_assert(sizeof...(O) == 1, "a formula of several outputs takes them by reference");
      if constexpr (requires { formula.whole; }) return skipping(formula, count, outs..., ins...);
      single(formula, count, outs..., drawn..., ins...);
    }
  }
};

/// An input of a loop: a single element, or elements side by side.
template <bool repeats, class T>
struct Input {
  const T value;
  FLAMBEAU_INLINE explicit Input(const char* data)
      : value(static_cast<T>(*reinterpret_cast<const Loaded<T>*>(data))) {}
  FLAMBEAU_INLINE T operator[](int64_t) const { return value; }
};
template <class T>
struct Input<false, T> {
  const Loaded<T>* const elements;
  FLAMBEAU_INLINE explicit Input(const char* data)
      : elements(reinterpret_cast<const Loaded<T>*>(data)) {}
  FLAMBEAU_INLINE T operator[](int64_t k) const { return static_cast<T>(elements[k]); }
};

/// The loop of a formula of which some inputs are single elements: those with a bit in `repeated`.
template <unsigned repeated, int vectors, class Formula, class Outputs, class... I>
struct RepeatingLoop;
template <unsigned repeated, int vectors, class Formula, class... O, class... I>
struct RepeatingLoop<repeated, vectors, Formula, Outs<O...>, I...> {
  static void run(const void* object, char* const* data, int64_t, int64_t count) {
    run(*static_cast<const Formula*>(object), data, count, std::index_sequence_for<O...>{},
        std::index_sequence_for<I...>{});
  }
  template <size_t... o, size_t... i>
  static FLAMBEAU_INLINE void run(const Formula& formula, char* const* data, int64_t count,
                                  std::index_sequence<o...>, std::index_sequence<i...>) {
    loop(formula, count, reinterpret_cast<O*>(data[o])...,
         Input<(repeated >> i & 1) != 0, I>(data[sizeof...(O) + i])...);
  }
  template <class... In>
  static FLAMBEAU_INLINE void loop(Formula formula, int64_t count, O* __restrict... outs,
                                   In... in) {
    if constexpr (sizeof...(O) == 1) {
      FLAMBEAU_EACH(vectors, count, ((outs[k] = static_cast<O>(formula(in[k]...))), ...))
    } else {
      for (int64_t k = 0; k < count; ++k) formula(outs[k]..., in[k]...);
    }
  }
};

/// Loops of a formula, by the inputs that repeat.
struct RepeatingLoops {
  DenseLoop at[kRepeatingLoops];
};
template <int vectors, class Formula, class Outputs, class... I, unsigned... repeated>
constexpr RepeatingLoops list_loops(Ins<I...>, std::integer_sequence<unsigned, repeated...>) {
  RepeatingLoops loops{};
  ((loops.at[repeated] = &RepeatingLoop<repeated, vectors, Formula, Outputs, I...>::run), ...);
  return loops;
}
template <int vectors, class Formula, class Outputs, class Inputs, unsigned... repeated>
inline constexpr RepeatingLoops kLoops =
    list_loops<vectors, Formula, Outputs>(Inputs{}, std::integer_sequence<unsigned, repeated...>());

template <bool indexed, class... O, class... D, class... I, class Formula>
FLAMBEAU_INLINE void map(const Iterator& iter, Outs<O...>, Draws<D...>, Ins<I...>,
                         const Formula& formula, int64_t cost, const RandomStream& stream) {
  using K = Kinds<Outs<O...>, Draws<D...>, Ins<I...>>;
  using First = std::tuple_element_t<0, std::tuple<typename Traits<O>::Value...>>;
  using L = Loop<indexed, kVectors<First>, Formula, Outs<typename Traits<O>::Value...>,
                 Draws<typename D::Value...>, Ins<Compute<I>...>>;
  const MapPlan plan{&L::run,
                     K::operands,
                     K::draws,
                     static_cast<int>(sizeof...(O) + sizeof...(I)),
                     static_cast<int>(sizeof...(D)),
                     indexed};
  run_map(iter, plan, &formula, cost, stream);
}

}  // namespace detail

/// A formula whose dear part only elements need for which `needs` holds: of a few others side by
/// side, `rest` alone is computed, which gives the same for them.
template <class Needs, class Rest, class Whole>
FLAMBEAU_INLINE auto skipping(Needs needs, Rest rest, Whole whole) {
  return detail::Skipping<Needs, Rest, Whole>{needs, rest, whole};
}

template <class Outputs, class Inputs, class Formula>
void map(const Iterator& iter, const Formula& formula, int64_t cost = 1) {
  detail::map<false>(iter, Outputs{}, Draws<>{}, Inputs{}, formula, cost, {});
}

template <class Outputs, class Inputs, class Formula>
void map_indexed(const Iterator& iter, const Formula& formula, int64_t cost = 1) {
  detail::map<true>(iter, Outputs{}, Draws<>{}, Inputs{}, formula, cost, {});
}

template <class Outputs, class Drawn, class Inputs, class Formula>
void map_random(const Iterator& iter, const RandomStream& stream, const Formula& formula,
                int64_t cost = 64) {
  detail::map<false>(iter, Outputs{}, Drawn{}, Inputs{}, formula, cost, stream);
}

namespace detail {

/// Formulas cheaper than this gain from loops that repeat an input; those of types that are rarely
/// broadcast are not worth their size.
inline constexpr int kCheapFormula = 9;
/// The cost from which a formula may call functions, of which loops see whole vectors.
inline constexpr int kFunctionCost = 8;
template <class T>
inline constexpr bool kMayRepeat = std::is_floating_point_v<T> || std::is_same_v<T, int64_t>;

template <class Outputs, class Drawn, class Inputs>
struct Signature;
template <class... O, class... D, class... I>
struct Signature<Outs<O...>, Draws<D...>, Ins<I...>> {
  /// Completes the plan of a kernel with the loops that repeat an input, where there are such.
  template <class T, class Formula, int cost>
  static FLAMBEAU_INLINE void add_repeating([[maybe_unused]] MapPlan& plan) {
    if constexpr (sizeof...(D) > 0 || !kMayRepeat<T> || cost >= kCheapFormula) {
      return;
    } else if constexpr (sizeof...(O) == 2 && sizeof...(I) == 3 && std::is_floating_point_v<T>) {
      // Gradients of two operands, of which one was broadcast.
      add<T, Formula, 0b010, 0b100>(plan);
    } else if constexpr (sizeof...(O) == 1 &&
                         std::is_invocable_v<Formula, Compute<OperandOf<I, T>>...>) {
      if constexpr (sizeof...(I) == 2) {
        add<T, Formula, 0b01, 0b10>(plan);
      } else if constexpr (sizeof...(I) == 3) {
        add<T, Formula, 0b001, 0b010, 0b100, 0b101, 0b110>(plan);
      }
    }
  }
  template <class T, class Formula, unsigned... repeated>
  static FLAMBEAU_INLINE void add(MapPlan& plan) {
    plan.repeating =
        kLoops<kVectors<T>, Formula, Outs<typename Traits<OperandOf<O, T>>::Value...>,
               Ins<Compute<OperandOf<I, T>>...>, repeated...>.at;
  }

  /// The same with loops over bfloat16. Dearer formulas spend little of their time on conversions.
  template <class Formula, int cost>
  static FLAMBEAU_INLINE void add_bfloat16([[maybe_unused]] MapPlan& plan) {
#if defined(__AVX2__)
    if constexpr (sizeof...(D) == 0 && sizeof...(O) == 1 && cost < kFunctionCost &&
                  std::is_invocable_v<Formula, Compute<OperandOf<I, bfloat16>>...>) {
      using Written = Outs<typename Traits<OperandOf<O, bfloat16>>::Storage...>;
      using Read = Ins<OperandOf<I, bfloat16>...>;
      if constexpr (sizeof...(I) == 2) {
        plan.bfloat16 = kLoops<kVectors<bfloat16>, Formula, Written, Read, 0b00, 0b01, 0b10>.at;
      } else {
        plan.bfloat16 = kLoops<kVectors<bfloat16>, Formula, Written, Read, 0>.at;
      }
    }
#endif
  }
  template <class T, class Formula>
  static FLAMBEAU_INLINE void run(const Formula& formula, char* const* data, int64_t index,
                                  int64_t count) {
    Loop<false, kVectors<T>, Formula, Outs<typename Traits<OperandOf<O, T>>::Value...>,
         Draws<typename OperandOf<D, T>::Value...>,
         Ins<OperandOf<I, T>...>>::run(formula, data, index, count, std::index_sequence_for<O...>{},
                                       std::index_sequence_for<D...>{},
                                       std::index_sequence_for<I...>{});
  }
};

/// What a described kernel hands its formula to, in the compute type T: half types share the loop
/// of float, and `plan`, which lacks the loop, says what they are in memory.
template <class Kernel, class T>
struct Mapping {
  using Operands =
      Signature<typename Kernel::Outputs, typename Kernel::Drawn, typename Kernel::Inputs>;
  const Iterator& iter;
  const RandomStream& stream;
  const MapPlan& plan;

  template <class Formula>
  FLAMBEAU_INLINE void operator()(const Formula& formula) const {
    MapPlan complete = plan;
    complete.loop = &loop<Formula>;
    Operands::template add_repeating<T, Formula, Kernel::cost>(complete);
    if constexpr (std::is_same_v<T, float> && (Kernel::dtypes & dtype_bit(DType::bfloat16)) != 0)
      Operands::template add_bfloat16<Formula, Kernel::cost>(complete);
    run_map(iter, complete, &formula, Kernel::cost, stream);
  }
  template <class Formula>
  static void loop(const void* formula, char* const* data, int64_t index, int64_t count) {
    Operands::template run<T>(*static_cast<const Formula*>(formula), data, index, count);
  }
};

}  // namespace detail

}  // namespace flambeau::cpu::FLAMBEAU_ISA
