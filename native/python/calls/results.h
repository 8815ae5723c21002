#pragma once

#include <Python.h>

#include <string>
#include <tuple>
#include <vector>

#include "autograd/graph/history.h"
#include "python/base/errors.h"
#include "python/calls/records.h"
#include "python/objects/tensor_object.h"

/// What generated bindings hand back to Python.
namespace flambeau::python {

inline PyObject* to_python(Tensor&& tensor) { return wrap(std::move(tensor)); }
inline PyObject* to_python(const Tensor& tensor) { return wrap(tensor); }
/// A tuple (split, unbind and the like return one).
FLAMBEAU_API PyObject* to_python(std::vector<Tensor>&& tensors);
FLAMBEAU_API PyObject* to_python(const Scalar& value);
FLAMBEAU_API PyObject* to_python(DType dtype);
FLAMBEAU_API PyObject* to_python(Device device);
inline PyObject* to_python(PyRef&& object) { return object.release(); }
inline PyObject* to_python(const char* text) { return PyUnicode_FromString(text); }
inline PyObject* to_python(const std::string& text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}
/// A flambeau.Size.
FLAMBEAU_API PyObject* to_size(IntList sizes);
/// A plain tuple of ints.
FLAMBEAU_API PyObject* to_tuple(IntList values);

/// Empty ones of that length; MemoryError that says how much was wanted.
FLAMBEAU_API PyRef new_list(int64_t length);
FLAMBEAU_API PyRef new_tuple(int64_t length);

namespace detail {
/// Steals the items; drops them all and throws when one is null.
FLAMBEAU_API PyObject* tuple_of(PyObject* const* items, int count);
}  // namespace detail

/// Several results without names of their own.
template <class... Results>
PyObject* to_python(std::tuple<Results...>&& results) {
  return std::apply(
      [](Results&... result) {
        PyObject* const items[] = {to_python(std::move(result))...};
        return detail::tuple_of(items, static_cast<int>(sizeof...(Results)));
      },
      results);
}

/// The type of a named result such as flambeau.return_types.max, made on first use:
///   static NamedResult max_result("max", {"values", "indices"});
///   return max_result.make(ops::max_dim(self, dim, keepdim));
class FLAMBEAU_API NamedResult {
 public:
  NamedResult(const char* name, std::initializer_list<const char*> fields);
  template <class... Results>
  PyObject* make(std::tuple<Results...>&& results) {
    return std::apply(
        [this](Results&... result) {
          PyObject* const items[] = {to_python(std::move(result))...};
          return make_from(items, static_cast<int>(sizeof...(Results)));
        },
        results);
  }
  /// The same over objects that exist already (the tensors given as out=).
  PyObject* make_from(PyObject* const* stolen_items, int count);
  PyTypeObject* type();
  static NamedResult* find(const char* name);

 private:
  const char* name_;
  const char* fields_[kMostResults];
  int count_ = 0;
  std::string qualified_name_;
  PyTypeObject* type_ = nullptr;
  NamedResult* next_;
};

/// The result of a factory function, given the slot of requires_grad. The other two only have
/// meanings that are already true of every tensor.
inline PyObject* factory_result(Tensor&& tensor, PyObject* requires_grad) {
  if (requires_grad == Py_True) autograd::set_requires_grad(tensor, true);
  return wrap(std::move(tensor));
}

}  // namespace flambeau::python
