#include "python/calls/results.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>

#include "python/base/shown_name.h"

namespace flambeau::python {

namespace {
PyRef sized(PyObject* (*make)(Py_ssize_t), int64_t length) {
  PyRef object(make(length));
  if (object) return object;
  PyErr_Clear();
  throw OutOfMemory(static_cast<size_t>(length) * sizeof(PyObject*));
}
}  // namespace

PyRef new_list(int64_t length) { return sized(PyList_New, length); }
PyRef new_tuple(int64_t length) { return sized(PyTuple_New, length); }

PyObject* to_python(std::vector<Tensor>&& tensors) {
  PyRef tuple = new_tuple(static_cast<int64_t>(tensors.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(std::move(tensors[i])));
  }
  return tuple.release();
}

PyObject* to_python(const Scalar& value) {
  switch (value.kind()) {
    case Scalar::Kind::boolean:
      return PyBool_FromLong(value.to<bool>());
    case Scalar::Kind::integer:
      return PyLong_FromLongLong(value.to<int64_t>());
    case Scalar::Kind::natural:
      return PyLong_FromUnsignedLongLong(value.to<uint64_t>());
    case Scalar::Kind::floating:
      return PyFloat_FromDouble(value.to<double>());
    case Scalar::Kind::complex: {
      const auto number = value.to<complex<double>>();
      return PyComplex_FromDoubles(number.re, number.im);
    }
  }
  Py_UNREACHABLE();
}

namespace detail {

PyObject* tuple_of(PyObject* const* items, int count) {
  PyObject* tuple = PyTuple_New(count);
  if (!tuple || std::find(items, items + count, nullptr) != items + count) {
    std::for_each(items, items + count, [](PyObject* item) { Py_XDECREF(item); });
    Py_XDECREF(tuple);
    throw_python_error();
  }
  for (int i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple, i, items[i]);
  return tuple;
}

}  // namespace detail

namespace {
NamedResult* first_named_result = nullptr;
}

NamedResult::NamedResult(const char* name, std::initializer_list<const char*> fields)
    : name_(name), next_(std::exchange(first_named_result, this)) {
  for (const char* field : fields) {
    if (count_ < kMostResults) fields_[count_++] = field;
  }
}

NamedResult* NamedResult::find(const char* name) {
  for (NamedResult* result = first_named_result; result; result = result->next_) {
    if (std::strcmp(result->name_, name) == 0) return result;
  }
  return nullptr;
}

namespace {

/// A field on each line: tensors may take several.
PyObject* shown(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const PyTypeObject* const type = Py_TYPE(self);
    const std::string name = type->tp_name;
    std::string text = shown_name() + name.substr(name.find('.')) + "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      const PyRef item = checked(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
      const char* const value = PyUnicode_AsUTF8(item.get());
      if (!value) throw_python_error();
      text += std::string(i == 0 ? "\n" : ",\n") + type->tp_members[i].name + "=" + value;
    }
    return PyUnicode_FromString((text + ")").c_str());
  });
}

}  // namespace

PyTypeObject* NamedResult::type() {
  if (type_) return type_;
  qualified_name_ = std::string("flambeau.return_types.") + name_;
  PyStructSequence_Field fields[kMostResults + 1] = {};
  for (int i = 0; i < count_; ++i) fields[i].name = fields_[i];
  PyStructSequence_Desc description{qualified_name_.c_str(), nullptr, fields, count_};
  type_ = PyStructSequence_NewType(&description);
  if (!type_) throw_python_error();
  type_->tp_repr = &shown;
  return type_;
}

PyObject* NamedResult::make_from(PyObject* const* stolen_items, int count) {
  PyObject* result = PyStructSequence_New(type());
  if (!result) throw_python_error();
  for (int i = 0; i < count; ++i) PyStructSequence_SetItem(result, i, stolen_items[i]);
  return result;
}

}  // namespace flambeau::python
