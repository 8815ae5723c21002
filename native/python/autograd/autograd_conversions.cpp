#include "python/autograd/autograd_internal.h"

namespace flambeau::python {

using autograd::Gradients;

namespace {
py::object steal(PyObject* object) { return py::reinterpret_steal<py::object>(object); }
}  // namespace

py::tuple to_tuple(const Gradients& gradients) {
  py::tuple result(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) result[i] = steal(wrap(gradients[i]));
  return result;
}

Gradients to_gradients(py::handle value, const char* what) {
  Gradients result;
  const auto add = [&](py::handle item) {
    check(item.is_none() || is_tensor(item.ptr()), ErrorKind::type, what,
          " must give tensors or None, not ", describe_type(item.ptr()));
    result.push_back(item.is_none() ? Tensor() : unwrap(item.ptr()));
  };
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value)) {
    for (const py::handle item : value) add(item);
  } else {
    add(value);
  }
  return result;
}

std::vector<Tensor> to_tensors(py::handle value, const char* what) {
  std::vector<Tensor> result;
  const auto add = [&](py::handle item) {
    check(is_tensor(item.ptr()), ErrorKind::type, what, " must be a Tensor, not ",
          describe_type(item.ptr()));
    result.push_back(unwrap(item.ptr()));
  };
  if (is_tensor(value.ptr())) {
    add(value);
  } else {
    check(py::isinstance<py::iterable>(value), ErrorKind::type, what,
          " must be a Tensor or a sequence of them, not ", describe_type(value.ptr()));
    for (const py::handle item : py::reinterpret_borrow<py::iterable>(value)) add(item);
  }
  return result;
}

}  // namespace flambeau::python
