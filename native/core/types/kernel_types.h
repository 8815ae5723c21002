#pragma once

#include <type_traits>

#include "core/types/dtype.h"
#include "core/types/element_types.h"

/// What a generated kernel says of itself, whatever it runs on: the dtypes that it has loops for,
/// the types of its operands, its price. A complete one, in the file that a unit of CPU loops and
/// one of CUDA kernels both include:
///
///     namespace flambeau::FLAMBEAU_KERNELS {  // cpu::avx2, cuda
///     namespace {
///     struct AddKernel : Pointwise<AddParameters, kFloats, 2, Outs<Element>, Ins<Element,
///     Element>>
///     {
///       static constexpr const char* name = "add";
///       template <class T, class R, class N, class Run>
///       static void formula(const AddParameters& parameters, const Run& run) {
///         const N alpha = parameters.alpha.to<N>();
///         run([=] FLAMBEAU_DEVICE(T self, T other) { return self + T(alpha) * other; });
///       }
///     };
///     }  // namespace
///     void register_from_add() { register_kernels<AddKernel>(); }
///     }
///
/// T is the type that is computed in: float for float16 and bfloat16, the element type otherwise; R
/// its real type; N what numbers are computed in. `formula` hands the function of an element to
/// `run`, since one for a GPU may not be returned; what it computes before is computed once.
///
///     struct MeanKernel : Folded<MeanParameters, kFloats, Element> {
///       static constexpr const char* name = "mean";
///       template <class T, class R, class N, class A>  // A: the accumulator
///       struct Fold {
///         using Accumulator = A;
///         FLAMBEAU_ELEMENT A init() const { return A(0); }
///         FLAMBEAU_ELEMENT A step(A acc, T x) const { return acc + A(x); }
///         FLAMBEAU_ELEMENT A combine(A a, A b) const { return a + b; }
///         FLAMBEAU_ELEMENT A finish(A acc, int64_t n) const { return acc / A(n); }
///       };
///     };
namespace flambeau {

template <class... T>
struct Outs {};
template <class... T>
struct Ins {};
template <class... T>
struct Draws {};
/// An output that is also read.
template <class T>
struct InOut {};

template <class T>
struct Uniform {
  using Value = T;
};
template <class T>
struct Normal {
  using Value = T;
};
struct Bits {
  using Value = uint64_t;
};

/// In place of an operand's type: the dtype that the kernel computes in, and the real one of it.
/// Operands of another dtype are given by their C++ type.
struct Element {};
struct Real {};

namespace detail {

/// What stands for an operand where elements are of type T.
template <class Operand, class T>
struct OperandOf {
  using type = Operand;
};
template <class T>
struct OperandOf<Element, T> {
  using type = T;
};
template <class T>
struct OperandOf<Real, T> {
  using type = RealOf<T>;
};
template <class Operand, class T>
struct OperandOf<InOut<Operand>, T> {
  using type = InOut<typename OperandOf<Operand, T>::type>;
};
/// Random numbers are as exact as what they meet; beside integers, floats.
template <class T>
using DrawnWith = std::conditional_t<std::is_integral_v<Compute<T>>, float, RealOf<Compute<T>>>;
template <class T>
struct OperandOf<Uniform<Real>, T> {
  using type = Uniform<DrawnWith<T>>;
};
template <class T>
struct OperandOf<Normal<Real>, T> {
  using type = Normal<DrawnWith<T>>;
};
template <class Operands, class T>
struct OperandsOf;
template <template <class...> class List, class... Operands, class T>
struct OperandsOf<List<Operands...>, T> {
  using type = List<typename OperandOf<Operands, T>::type...>;
};

template <class T>
struct AsOuts {
  using type = Outs<T>;
};
template <class... T>
struct AsOuts<Outs<T...>> {
  using type = Outs<T...>;
};

}  // namespace detail

/// One output, or the list that it is already.
template <class Out>
using AsOuts = typename detail::AsOuts<Out>::type;
/// An operand, or a list of them, where elements are of type T.
template <class Operand, class T>
using OperandOf = typename detail::OperandOf<Operand, T>::type;
template <class Operands, class T>
using OperandsOf = typename detail::OperandsOf<Operands, T>::type;

/// A loop over elements. `price`: of an element, relative to an addition.
template <class P, DTypeSet loops, int price, class O, class I, class D = Draws<>>
struct Pointwise {
  using Parameters = P;
  using Outputs = O;
  using Inputs = I;
  using Drawn = D;
  static constexpr DTypeSet dtypes = loops;
  static constexpr int cost = price;
  static constexpr bool ignores_sign = false;  ///< integers give the same bits, signed or not
  static constexpr bool moves = false;         ///< elements as they are, of which halves are words
};

/// A reduction. Accumulators hold what the output is computed in.
template <class P, DTypeSet loops, class O>
struct Folded {
  using Parameters = P;
  using Output = O;
  static constexpr DTypeSet dtypes = loops;
  static constexpr bool ignores_sign = false, moves = false;
};

}  // namespace flambeau
