#pragma once

#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "core/types/dtype.h"
#include "core/types/element_types.h"

namespace flambeau::cpu {

/// Calls `function.template operator()<T>()` with the C++ type of elements of `dtype` in memory:
///     visit_dtype(tensor.dtype(), [&]<class T>() { ... tensor.data<T>() ... });
template <class Function>
decltype(auto) visit_dtype(DType dtype, Function&& function) {
  switch (dtype) {
#define FLAMBEAU_VISIT(name, type, ...) \
  case DType::name:                     \
    return std::forward<Function>(function).template operator()<InMemory<type>>();
    FLAMBEAU_FOR_EACH_COMPUTED_DTYPE(FLAMBEAU_VISIT)
#undef FLAMBEAU_VISIT
    default:
      fail(ErrorKind::runtime, "no kernel computes with elements of dtype ", dtype);
  }
}

/// The same for kernels that take the limited dtypes too.
template <class Function>
decltype(auto) visit_stored_dtype(DType dtype, Function&& function) {
  switch (dtype) {
#define FLAMBEAU_VISIT(name, type, ...) \
  case DType::name:                     \
    return std::forward<Function>(function).template operator()<InMemory<type>>();
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_VISIT)
#undef FLAMBEAU_VISIT
  }
  fail(ErrorKind::runtime, "there is no such dtype: ", static_cast<int>(dtype));
}

/// The same for the floating dtypes; Error(runtime) naming `op` for others.
template <class Function>
decltype(auto) with_floating(DType dtype, const char* op, Function&& function) {
  switch (dtype) {
    case DType::float32:
      return std::forward<Function>(function).template operator()<float>();
    case DType::float64:
      return std::forward<Function>(function).template operator()<double>();
    case DType::float16:
      return std::forward<Function>(function).template operator()<float16>();
    case DType::bfloat16:
      return std::forward<Function>(function).template operator()<bfloat16>();
    default:
      fail(ErrorKind::runtime, op, ": expected a floating dtype, got ", name(dtype));
  }
}

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<complex<T>> = true;
template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// An integer, a double, or for complex elements a complex number, as an element; complex numbers
/// and halves are made of floats only.
template <class T, class Number>
T from_number(Number value) {
  if constexpr (is_complex_type<Number>) {
    return T(value);
  } else if constexpr (is_complex_type<T>) {
    return T(static_cast<typename T::value_type>(value));
  } else if constexpr (is_half_type<T>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

namespace detail {
template <class Function>
auto for_ordered(const char* op, Function& function) {
  using Result = decltype(function.template operator()<float>());
  return [op, &function]<class T>() -> Result {
    if constexpr (is_complex_type<T>) {
      fail(ErrorKind::runtime, op, ": complex numbers have no order");
    } else {
      return function.template operator()<T>();
    }
  };
}
}  // namespace detail

/// Both for types that have an order; Error(runtime) naming `op` for complex ones.
template <class Function>
decltype(auto) visit_ordered_dtype(DType dtype, const char* op, Function&& function) {
  return visit_dtype(dtype, detail::for_ordered(op, function));
}
template <class Function>
decltype(auto) visit_stored_ordered_dtype(DType dtype, const char* op, Function&& function) {
  return visit_stored_dtype(dtype, detail::for_ordered(op, function));
}

/// What sums of T are collected in: half types in float.
template <class T>
using Collected = std::conditional_t<is_half_type<T>, float, T>;

/// Integers as numbers that wrap around: signed ones must not overflow.
template <class T>
concept Integral = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// a + b in T; bool saturates, integers wrap around.
template <class T>
inline T plus(T a, T b) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return a || b;
  } else if constexpr (is_half_type<T>) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  } else if constexpr (Integral<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a + b);
  }
}

template <class T>
inline T times(T a, T b) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return a && b;
  } else if constexpr (is_half_type<T>) {
    return T(static_cast<float>(a) * static_cast<float>(b));
  } else if constexpr (Integral<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return static_cast<T>(a * b);
  }
}

template <class T>
inline bool is_nonzero(T value) {
  if constexpr (is_complex_type<T>) {
    return value.re != 0 || value.im != 0;
  } else if constexpr (is_half_type<T>) {
    return static_cast<float>(value) != 0;
  } else {
    return value != 0;
  }
}

}  // namespace flambeau::cpu
