#pragma once

#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "python/base/errors.h"

namespace flambeau::python {

/// A text that is an argument of a template.
template <size_t size>
struct Literal {
  constexpr Literal(const char (&given)[size]) { std::copy_n(given, size, text); }
  char text[size];
};

/// What methods call the first argument, and what functions do.
inline constexpr const char kReceiver[] = "self", kFirst[] = "input";

/// What a function calls an argument.
inline const char* name_in_function(const char* declared) {
  return declared == std::string_view(kReceiver) ? kFirst : declared;
}

/// The name of an attribute as one object for good: the interpreter's cache of methods keeps every
/// object that an attribute was asked for by, so that new ones would pile up in it.
template <Literal literal>
PyObject* interned() {
  static PyObject* const object = checked(PyUnicode_InternFromString(literal.text)).release();
  return object;
}

}  // namespace flambeau::python
