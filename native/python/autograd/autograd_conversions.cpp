#include "python/autograd/autograd_internal.h"

namespace flambeau::python {

using autograd::Gradients;

PyRef to_tuple(const Gradients& gradients) {
  PyRef result = checked(PyTuple_New(static_cast<Py_ssize_t>(gradients.size())));
  for (size_t i = 0; i < gradients.size(); ++i) {
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), wrap(gradients[i]));
  }
  return result;
}

Gradients to_gradients(PyObject* value, const char* what) {
  Gradients result;
  const auto add = [&](PyObject* item) {
    check(item == Py_None || is_tensor(item), ErrorKind::type, what,
          " must give tensors or None, not ", describe_type(item));
    result.push_back(item == Py_None ? Tensor() : unwrap(item));
  };
  if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      add(PySequence_Fast_GET_ITEM(value, i));
    }
  } else {
    add(value);
  }
  return result;
}

std::vector<Tensor> to_tensors(PyObject* value, const char* what) {
  std::vector<Tensor> result;
  const auto add = [&](PyObject* item) {
    check(is_tensor(item), ErrorKind::type, what, " must be a Tensor, not ", describe_type(item));
    result.push_back(unwrap(item));
  };
  if (is_tensor(value)) {
    add(value);
    return result;
  }
  const PyRef iterator(PyObject_GetIter(value));
  if (!iterator && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    fail(ErrorKind::type, what, " must be a Tensor or a sequence of them, not ",
         describe_type(value));
  }
  if (!iterator) throw_python_error();
  while (const PyRef item = PyRef(PyIter_Next(iterator.get()))) add(item.get());
  if (PyErr_Occurred()) throw_python_error();
  return result;
}

}  // namespace flambeau::python
