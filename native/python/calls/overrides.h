#pragma once

#include <Python.h>

#include <span>

#include "core/base/macros.h"
#include "python/base/errors.h"
#include "python/base/generated.h"
#include "python/calls/records.h"
#include "python/objects/tensor_object.h"

/// `__torch_function__`: what a call does is asked of the modes that are on, and of the types of
/// its arguments, before it is done. Nobody is asked where all tensors are exactly Tensors or
/// Parameters, and no mode is on.
namespace flambeau::python {

namespace detail {
FLAMBEAU_API bool is_plain_type(PyTypeObject* type);
}  // namespace detail

/// How many modes are on, on all threads. The GIL protects it.
FLAMBEAU_API extern int active_modes;

/// Whether it is a tensor whose type has no say: a Tensor, or a Parameter.
inline bool is_plain_tensor(PyObject* object) {
  return FLAMBEAU_LIKELY(is_exact_tensor(object)) ||
         (PyObject_TypeCheck(object, tensor_type) && detail::is_plain_type(Py_TYPE(object)));
}
/// Whether it may have a say: it is no plain tensor, and no exact number.
inline bool may_override(PyObject* object) {
  return !(is_exact_tensor(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
           PyBool_Check(object) || is_plain_tensor(object));
}

/// What those who are asked make of a call of a function, or of a method; null where nobody is.
FLAMBEAU_API PyRef overridden(const Binding& binding, PyObject* receiver, PyObject* const* args,
                              Py_ssize_t count, PyObject* names);
/// What layouts a member that is written by hand takes.
enum class Layouts : uint8_t { strided, any };
/// The same of a method that has no record, such as the slot behind an operator of Python's.
/// Error(not_implemented) where nobody is asked and an argument has a layout that is not taken.
FLAMBEAU_API PyRef overridden(const char* method, std::span<PyObject* const> args,
                              Layouts layouts = Layouts::strided);
/// The same of a property; `accessor` is __get__ or __set__.
FLAMBEAU_API PyRef overridden_property(const char* property, const char* accessor,
                                       std::span<PyObject* const> args,
                                       Layouts layouts = Layouts::strided);
/// What Tensor's method gives: for slots, whose functions know strided tensors alone.
FLAMBEAU_API PyRef call_method(const char* method, std::span<PyObject* const> args);

/// Whether somebody may want to be asked about a member of `self`.
inline bool asks(PyObject* self) {
  return FLAMBEAU_UNLIKELY(active_modes > 0) || FLAMBEAU_UNLIKELY(!is_plain_tensor(self));
}
/// Whether somebody may want to be asked about an operator of Python's.
inline bool asks(PyObject* a, PyObject* b) {
  return FLAMBEAU_UNLIKELY(active_modes > 0) || FLAMBEAU_UNLIKELY(may_override(a)) ||
         FLAMBEAU_UNLIKELY(may_override(b));
}

/// func(*args, **kwargs) of the arguments that `__torch_function__` and `__torch_dispatch__` get:
/// (func, types, args=(), kwargs=None). Null with an exception that is set; `name` is told in it.
PyObject* call_as_given(const char* name, PyObject* given);

/// Adds the functions of a namespace to a module; each is what its record stands for.
void add_functions(PyObject* module, const FunctionNamespace& space);

/// `_C._overrides`: what flambeau.overrides is made of.
void add_overrides(PyObject* module);

}  // namespace flambeau::python
