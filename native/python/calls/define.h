#pragma once

#include <Python.h>

#include "python/base/names.h"
#include "python/base/type_object.h"
#include "python/calls/calls.h"
#include "python/calls/functions.h"

/// Functions and methods of Python that are one C++ function, written by hand: described by the
/// same records, called the same way as what is generated.
///
///   void set_threads(int64_t count);
///   constexpr Parameter count[] = {{"count", Kind::integer}};
///   PyMethodDef functions[] = {
///       define<"set_num_threads", set_threads, count>("set_num_threads(count)\n--\n\n..."), ...
///
/// One that takes or gives Python's objects keeps the GIL.
namespace flambeau::python {

namespace detail {

template <auto& pointer, uint8_t form, auto&... parameters>
constexpr Overload only_overload() {
  constexpr int8_t receiver = form == kMethod ? 0 : -1;
  if constexpr (sizeof...(parameters) == 0) {
    return Overload(form, &function<pointer>);
  } else {
    return Overload(parameters..., form, receiver, &function<pointer>);
  }
}

template <Literal name, uint8_t form, auto& pointer, auto&... parameters>
struct Defined {
  static constexpr Overload overloads[] = {only_overload<pointer, form, parameters...>()};
  static constexpr Binding binding{name.text, overloads};
};

}  // namespace detail

template <Literal name, auto& pointer, auto&... parameters>
PyMethodDef define(const char* documentation) {
  constexpr auto& binding = detail::Defined<name, kFunction, pointer, parameters...>::binding;
  return {binding.name, c_function(function_of<binding>), METH_FASTCALL | METH_KEYWORDS,
          documentation};
}
/// One that is called through a type.
template <Literal name, auto& pointer, auto&... parameters>
PyMethodDef define_static(const char* documentation) {
  PyMethodDef method = define<name, pointer, parameters...>(documentation);
  method.ml_flags |= METH_STATIC;
  return method;
}
/// A method of Tensor: the first of the parameters is `self`.
template <Literal name, auto& pointer, auto&... parameters>
PyMethodDef define_method(const char* documentation) {
  constexpr auto& binding = detail::Defined<name, kMethod, pointer, parameters...>::binding;
  return {binding.name, c_function(method_of<binding>), METH_FASTCALL | METH_KEYWORDS,
          documentation};
}
/// Ends a table of methods.
inline constexpr PyMethodDef kNoMore = {nullptr, nullptr, 0, nullptr};

}  // namespace flambeau::python
