#include <cmath>

#include "core/types/element_types.h"
#include "python/base/names.h"
#include "python/calls/arguments.h"
#include "python/calls/overrides.h"
#include "python/calls/results.h"
#include "python/objects/tensor_members.h"

namespace flambeau::python {

namespace {

/// A conversion that those who are asked may take over.
template <Literal name, class Body>
PyObject* converted(PyObject* self, const Body& body) {
  return guarded([&]() -> PyObject* {
    if (asks(self)) {
      if (PyRef result = overridden(name.text, {&self, 1})) return result.release();
    }
    return body();
  });
}

// Elements as Python objects -------------------------------------------------------------------

template <class T>
PyObject* element(T value) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return Py_NewRef(value ? Py_True : Py_False);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return PyLong_FromUnsignedLongLong(value);
  } else if constexpr (std::is_integral_v<T>) {
    return PyLong_FromLongLong(value);
  } else if constexpr (requires { value.re; }) {
    return PyComplex_FromDoubles(value.re, value.im);
  } else {
    return PyFloat_FromDouble(static_cast<float>(value));
  }
}
template <>
PyObject* element(double value) {
  return PyFloat_FromDouble(value);
}

/// Nested lists of the elements from dimension `dim` on.
template <class T>
PyObject* nested_list(const Tensor& tensor, const T* data, size_t dim) {
  if (dim == tensor.sizes().size()) return element(*data);
  const int64_t size = tensor.sizes()[dim], stride = tensor.strides()[dim];
  PyRef list = new_list(size);
  const bool last = dim + 1 == tensor.sizes().size();
  for (int64_t i = 0; i < size; ++i) {
    PyObject* item =
        last ? element(data[i * stride]) : nested_list(tensor, data + i * stride, dim + 1);
    if (!item) throw_python_error();
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

/// The same tensor where the CPU can read it.
Tensor on_cpu(const Tensor& tensor) {
  check(!tensor.device().is_meta(), ErrorKind::runtime,
        "tolist(): a meta tensor has no elements to read");
  if (tensor.device().is_cpu()) return tensor;
  Tensor copy = empty(tensor.sizes(), tensor.dtype(), Device{});
  copy_data(copy, tensor);
  return copy;
}

PyObject* tolist(PyObject* self, PyObject*) {
  return converted<"tolist">(self, [&]() -> PyObject* {
    const Tensor tensor = on_cpu(unwrap(self));
    switch (tensor.dtype()) {
#define FLAMBEAU_CASE(name, type, ...) \
  case DType::name:                    \
    return nested_list(tensor, tensor.data<InMemory<type>>(), 0);
      FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_CASE)
#undef FLAMBEAU_CASE
    }
    Py_UNREACHABLE();
  });
}

// One element ----------------------------------------------------------------------------------

Scalar only_element(PyObject* self, const char* op, ErrorKind kind = ErrorKind::value) {
  const Tensor& tensor = unwrap(self);
  check(tensor.numel() == 1, kind, op, ": needs a tensor of one element, got shape ",
        tensor.sizes(), " (", tensor.numel(), " elements)");
  return item(tensor);
}
/// `real` numbers have no imaginary part that would be lost.
Scalar real_element(PyObject* self, const char* op) {
  const Scalar value = only_element(self, op);
  check(!value.is_complex() || value.to<complex<double>>().im == 0, ErrorKind::runtime, op,
        ": the complex value ", value, " has an imaginary part that would be lost");
  return value;
}

PyObject* item_method(PyObject* self, PyObject*) {
  return converted<"item">(
      self, [&] { return to_python(only_element(self, "item()", ErrorKind::runtime)); });
}
PyObject* to_complex(PyObject* self, PyObject*) {
  return converted<"__complex__">(self, [&] {
    const auto value = only_element(self, "complex()").to<complex<double>>();
    return PyComplex_FromDoubles(value.re, value.im);
  });
}
PyObject* to_float(PyObject* self) {
  return converted<"__float__">(
      self, [&] { return PyFloat_FromDouble(real_element(self, "float()").to<double>()); });
}
/// An int of Python.
PyObject* whole(const Scalar& value) {
  return value.is_natural() ? PyLong_FromUnsignedLongLong(value.to<uint64_t>())
                            : PyLong_FromLongLong(value.to<int64_t>());
}
PyObject* to_integer(PyObject* self) {
  return converted<"__int__">(self, [&] {
    const Scalar value = real_element(self, "int()");
    if (value.is_integral()) return whole(value);
    return PyLong_FromDouble(value.to<double>());
  });
}
PyObject* to_index(PyObject* self) {
  return converted<"__index__">(self, [&] {
    const Tensor& tensor = unwrap(self);
    check(tensor.numel() == 1 && !is_differentiable(tensor.dtype()), ErrorKind::type,
          "a tensor used as an index must hold one integer, got shape ", tensor.sizes(),
          " and dtype ", tensor.dtype());
    return whole(item(tensor));
  });
}
int to_truth(PyObject* self) {
  return guarded_number<int>([&]() -> int {
    if (asks(self)) {
      if (PyRef result = overridden("__bool__", {&self, 1})) {
        return checked(PyObject_IsTrue(result.get()));
      }
    }
    const Tensor& tensor = unwrap(self);
    check(tensor.numel() == 1, ErrorKind::runtime, "bool(): the truth value of a tensor of shape ",
          tensor.sizes(), " is ambiguous; use any() or all()");
    const Scalar value = item(tensor);
    if (!value.is_complex())
      return value.is_integral() ? value.to<int64_t>() != 0 : value.to<double>() != 0;
    const auto number = value.to<complex<double>>();
    return number.re != 0 || number.im != 0;
  });
}

// A sequence of its slices ---------------------------------------------------------------------

Py_ssize_t length(PyObject* self) {
  return guarded_number<Py_ssize_t>([&]() -> Py_ssize_t {
    if (asks(self)) {
      if (PyRef result = overridden("__len__", {&self, 1})) {
        const Py_ssize_t length = PyLong_AsSsize_t(result.get());
        if (length < 0) throw_python_error();
        return length;
      }
    }
    const Tensor& tensor = unwrap(self);
    check(tensor.dim() > 0, ErrorKind::type, "len(): a 0-d tensor has no length");
    return static_cast<Py_ssize_t>(tensor.sizes()[0]);
  });
}
PyObject* iterate(PyObject* self) {
  return converted<"__iter__">(self, [&]() -> PyObject* {
    check(unwrap(self).dim() > 0, ErrorKind::type, "iter(): a 0-d tensor cannot be iterated over");
    const PyRef slices = checked(PyObject_CallMethodNoArgs(self, interned<"unbind">()));
    return PyObject_GetIter(slices.get());
  });
}

}  // namespace

PyMethodDef conversion_methods[] = {
    {"item", item_method, METH_NOARGS,
     "item()\n--\n\nThe only element as a Python number; waits for the device."},
    {"tolist", tolist, METH_NOARGS, "tolist()\n--\n\nThe elements as nested lists of numbers."},
    {"__complex__", to_complex, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot conversion_slots[] = {{Py_nb_float, reinterpret_cast<void*>(to_float)},
                                  {Py_nb_int, reinterpret_cast<void*>(to_integer)},
                                  {Py_nb_index, reinterpret_cast<void*>(to_index)},
                                  {Py_nb_bool, reinterpret_cast<void*>(to_truth)},
                                  {Py_mp_length, reinterpret_cast<void*>(length)},
                                  {Py_tp_iter, reinterpret_cast<void*>(iterate)},
                                  {0, nullptr}};

}  // namespace flambeau::python
