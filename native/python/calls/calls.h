#pragma once

#include <Python.h>

#include "core/base/macros.h"
#include "python/calls/records.h"

/// How Python calls what a record describes.
namespace flambeau::python {

namespace detail {
/// Any call; `receiver` is null in the function form.
FLAMBEAU_API PyObject* call_binding(PyObject* receiver, PyObject* const* args, Py_ssize_t count,
                                    PyObject* names, const Binding& binding) noexcept;
/// How many arguments a call has by position, its keywords among them: they are, if they name the
/// parameters that follow, in order. Otherwise -1.
FLAMBEAU_API Py_ssize_t in_order(const Overload& overload, bool method, Py_ssize_t count,
                                 PyObject* names);
#ifdef FLAMBEAU_ASSERTIONS
/// Whether the parser takes the overload that exact types have led to.
FLAMBEAU_API bool is_parsed_too(const Overload& overload, PyObject* receiver, PyObject* const* args,
                                Py_ssize_t count, PyObject* names, const Binding& binding) noexcept;
#endif
}  // namespace detail

/// METH_FASTCALL | METH_KEYWORDS.
template <const Binding& binding>
PyObject* function_of(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return binding.overloads.front().function->enter(nullptr, args, count, names, binding);
}
template <const Binding& binding>
PyObject* method_of(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return binding.overloads.front().function->enter(self, args, count, names, binding);
}

/// Entries of tables of methods and of functions (python/base/generated.h).
#define FLAMBEAU_METHOD(name, binding, doc) FLAMBEAU_ENTRY(name, method_of<binding>, doc)
#define FLAMBEAU_FUNCTION(name, binding, doc) \
  { FLAMBEAU_ENTRY(name, function_of<binding>, doc), &binding }
// METH_FASTCALL | METH_KEYWORDS functions have a type of their own.
#define FLAMBEAU_ENTRY(name, function, doc)                                       \
  {                                                                               \
    name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&function)), \
        METH_FASTCALL | METH_KEYWORDS, doc                                        \
  }

}  // namespace flambeau::python
