#include <algorithm>

#include "autograd/graph/history.h"
#include "python/base/sequences.h"
#include "python/calls/arguments.h"
#include "python/interop/numpy_types.h"
#include "python/objects/device_object.h"
#include "python/objects/dtype_object.h"
#include "python/objects/generator_object.h"
#include "python/objects/layout_object.h"

namespace flambeau::python {

namespace detail {

const Tensor undefined;

namespace {
[[noreturn]] void fail_type(PyObject* value, const char* expected) {
  fail(ErrorKind::type, "expected ", expected, ", got ", describe_type(value));
}
}  // namespace

int64_t int_slow(PyObject* value) {
  if (PyBool_Check(value)) return value == Py_True;
  const PyRef index = checked(PyNumber_Index(value));
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow != 0) {
    fail(ErrorKind::overflow, "the int ", PyUnicode_AsUTF8(checked(PyObject_Str(value)).get()),
         " does not fit 64 bits");
  }
  if (result == -1 && PyErr_Occurred()) throw_python_error();
  return result;
}

double double_slow(PyObject* value) {
  const double result = PyFloat_AsDouble(value);
  if (result == -1.0 && PyErr_Occurred()) throw_python_error();
  return result;
}

bool bool_slow(PyObject* value) { return checked(PyObject_IsTrue(value)) != 0; }

Scalar scalar_slow(PyObject* value) {
  if (PyFloat_Check(value)) return Scalar(PyFloat_AS_DOUBLE(value));
  if (PyLong_Check(value)) return Scalar(int_slow(value));
  if (PyComplex_Check(value)) {
    const Py_complex number = PyComplex_AsCComplex(value);
    return Scalar(complex<double>(number.real, number.imag));
  }
  if (is_tensor(value)) return item(unwrap(value));
  if (is_numpy_bool(value)) return Scalar(checked(PyObject_IsTrue(value)) != 0);
  if (is_numpy_scalar(value)) {
    if (PyIndex_Check(value)) {
      const PyRef index(PyNumber_Index(value));
      if (index) return Scalar(int_slow(index.get()));
      PyErr_Clear();
    }
    if (is_numpy_complex(value)) {
      const Py_complex number = PyComplex_AsCComplex(value);
      if (PyErr_Occurred()) throw_python_error();
      return Scalar(complex<double>(number.real, number.imag));
    }
    return Scalar(double_slow(value));
  }
  if (PyIndex_Check(value)) return Scalar(int_slow(value));
  fail_type(value, "a number");
}

}  // namespace detail

Scalar to_wide_scalar(PyObject* value) {
  if (PyIndex_Check(value) && !PyBool_Check(value)) {
    const PyRef index = checked(PyNumber_Index(value));
    const unsigned long long natural = PyLong_AsUnsignedLongLong(index.get());
    if (!PyErr_Occurred()) return Scalar(uint64_t{natural});
    PyErr_Clear();  // negative, or wider still: to_scalar tells
  }
  return to_scalar(value);
}

bool is_number(PyObject* value) {
  if (PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value)) return true;
  if (is_tensor(value) || is_numpy_array(value)) return false;
  return is_numpy_number(value) || PyIndex_Check(value);
}

namespace {

bool is_single(PyObject* value, bool (*category)(DType)) {
  if (!is_tensor(value) || is_sparse_object(value)) return false;
  const Tensor& tensor = unwrap(value);
  return tensor.defined() && tensor.dim() == 0 && category(tensor.dtype()) &&
         !autograd::requires_grad(tensor);
}

bool is_int(PyObject* value) {
  if (PyLong_CheckExact(value)) return true;
  if (PyBool_Check(value)) return false;
  if (PyLong_Check(value)) return true;
  if (is_tensor(value)) return is_single(value, is_integral);
  if (!PyIndex_Check(value) || PyFloat_Check(value) || is_numpy_bool(value)) return false;
  const PyRef index(PyNumber_Index(value));
  if (!index) PyErr_Clear();
  return static_cast<bool>(index);
}

bool is_real(PyObject* value) {
  if (PyFloat_Check(value) || PyLong_Check(value)) return true;
  if (is_tensor(value)) return is_single(value, [](DType dtype) { return !is_complex(dtype); });
  return is_numpy_number(value) && !is_numpy_complex(value);
}

/// Whether all elements of a sequence (not a str) pass.
bool all_elements(PyObject* value, bool (*test)(PyObject*)) {
  if (PyUnicode_Check(value) || PyBytes_Check(value) || PyDict_Check(value) || is_tensor(value) ||
      !PySequence_Check(value)) {
    return false;
  }
  return all_of_sequence(value, test);
}

}  // namespace

bool has_layout(const Parameter& parameter, PyObject* tensor) {
  if (parameter.flags & kAnyLayout) return true;
  return is_sparse_object(tensor) == static_cast<bool>(parameter.flags & kSparse);
}

namespace {

bool accepts_tensor(const Parameter& parameter, PyObject* value) {
  return is_tensor(value) && has_layout(parameter, value);
}

/// Whether all elements are tensors of the layout, or None where that is accepted.
bool accepts_tensors(const Parameter& parameter, PyObject* value) {
  const auto is_taken = [&](PyObject* item) {
    return accepts_tensor(parameter, item) ||
           (item == Py_None && (parameter.flags & kNoneElements));
  };
  if (!all_elements(value, [](PyObject* item) { return item == Py_None || is_tensor(item); })) {
    return false;
  }
  const Elements elements(value);
  return std::all_of(elements.begin(), elements.end(), is_taken);
}

}  // namespace

bool accepts(const Parameter& parameter, PyObject* value) {
  switch (parameter.kind) {
    case Kind::tensor:
      return accepts_tensor(parameter, value);
    case Kind::operand:
      return accepts_tensor(parameter, value) || is_number(value);
    case Kind::scalar:
      return is_number(value) || is_single(value, [](DType) { return true; });
    case Kind::integer:
      return is_int(value);
    case Kind::floating:
      return is_real(value);
    case Kind::boolean:
      return PyBool_Check(value) || is_numpy_bool(value) ||
             is_single(value, [](DType dtype) { return dtype == DType::bool_; });
    case Kind::string:
      return PyUnicode_Check(value);
    case Kind::dtype:
      return is_dtype_like(value);
    case Kind::device:
      return is_device_like(value);
    case Kind::generator:
      return is_generator(value);
    case Kind::layout:
      return value == strided_layout();
    case Kind::memory_format:
      return is_memory_format(value);
    case Kind::integers:
      if (parameter.flags & kNoneElements) {
        return is_int(value) ||
               all_elements(value, [](PyObject* item) { return item == Py_None || is_int(item); });
      }
      return is_int(value) || all_elements(value, is_int);
    case Kind::floats:
      return is_real(value) || all_elements(value, is_real);
    case Kind::booleans:
      return all_elements(value, [](PyObject* item) { return PyBool_Check(item) != 0; });
    case Kind::tensors:
      return accepts_tensors(parameter, value) &&
             ((parameter.flags & kNoneElements) || parameter.length == 0 ||
              length_of(value) == parameter.length);
    case Kind::object:
      return true;
  }
  return false;
}

namespace {

/// Lists in lists are described this deep: they may go on for ever.
constexpr int kDescribedDepth = 4;

/// What is said of a sequence that would not fit in memory as a list.
std::string hugeness(PyObject* value) {
  if (!PySequence_Check(value) || is_tensor(value)) return "";
  const Py_ssize_t length = PySequence_Size(value);
  if (length < 0) PyErr_Clear();
  if (length < 0 || fits_memory(length)) return "";
  return " of " + std::to_string(length) + " elements, which do not fit in memory";
}

std::string describe(PyObject* value, int depth) {
  if (value == Py_None) return "None";
  if (is_exact_tensor(value)) return "Tensor";
  if (is_sparse_object(value)) return std::string("Tensor of layout ") + layout_name(unwrap(value));
  std::string name = Py_TYPE(value)->tp_name;
  if (!PyList_Check(value) && !PyTuple_Check(value)) {
    if (PyType_Check(value)) {
      return std::string("the type ") + reinterpret_cast<PyTypeObject*>(value)->tp_name;
    }
    return name + hugeness(value);
  }
  if (PySequence_Fast_GET_SIZE(value) == 0) return "empty " + name;
  if (depth == kDescribedDepth) return name;
  PyObject** items = PySequence_Fast_ITEMS(value);
  std::string elements = describe(items[0], depth + 1);
  for (Py_ssize_t i = 1; i < PySequence_Fast_GET_SIZE(value); ++i) {
    if (Py_TYPE(items[i]) != Py_TYPE(items[0])) {
      elements += " and " + describe(items[i], depth + 1);
      break;
    }
  }
  return name + " of " + elements;
}

}  // namespace

std::string describe_type(PyObject* value) { return describe(value, 0); }

TensorListArgument::TensorListArgument(const Slot& slot) {
  const auto add = [&](PyObject* element) {
    // Another argument's __index__ may have changed the list since it was accepted.
    if (element != Py_None && (!is_tensor(element) || !has_layout(*slot.parameter, element)))
      detail::fail_type(element, "a Tensor");
    tensors_.push_back(to_tensor(element));
  };
  if (slot.count == 0 || *slot.objects == Py_None) return;
  if (slot.count > 1 || is_tensor(*slot.objects)) {
    std::for_each_n(slot.objects, slot.count, add);
    return;
  }
  const Elements elements(*slot.objects);
  tensors_.reserve(static_cast<size_t>(elements.size()));
  std::for_each(elements.begin(), elements.end(), add);
}

void IntListArgument::read(const Slot& slot) {
  const Parameter& parameter = *slot.parameter;
  if (slot.count == 1 && *slot.objects != Py_None) return read(*slot.objects, parameter.length);
  if (slot.count > 1) {
    Shape& values = values_.emplace();
    values.resize(static_cast<size_t>(slot.count));
    std::transform(slot.objects, slot.objects + slot.count, values.begin(),
                   [](PyObject* object) { return to_int(object); });
    list_ = values;
  } else if (parameter.flags & kNoneElements) {
    list_ = IntList(&kNoInt, 1);
  }
}

namespace {

/// False when something else is among them.
bool read_small_ints(PyObject* object, Shape& values) {
  if (!PyTuple_Check(object) && !PyList_CheckExact(object)) return false;
  PyObject* const* const items = PySequence_Fast_ITEMS(object);
  const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(object));
  values.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (!small_int(items[i], values[i])) return false;
  }
  return true;
}

}  // namespace

void IntListArgument::read(PyObject* object, int length) {
  Shape& values = values_.emplace();
  const auto repeated = static_cast<size_t>(std::max(length, 1));
  if (int64_t value; small_int(object, value)) {
    values.resize(repeated, value);
  } else if (!read_small_ints(object, values)) {
    if (is_int(object)) {
      values = Shape(repeated, to_int(object));
    } else {
      const Elements elements(object);
      values.resize(static_cast<size_t>(elements.size()));
      std::transform(elements.begin(), elements.end(), values.begin(),
                     [](PyObject* item) { return item == Py_None ? kNoInt : to_int(item); });
    }
  }
  list_ = values;
}

FloatListArgument::FloatListArgument(const Slot& slot) {
  if (slot.count == 0 || *slot.objects == Py_None) return;
  if (!PySequence_Check(*slot.objects)) {
    values_.assign(std::max<size_t>(slot.parameter->length, 1), to_double(*slot.objects));
    return;
  }
  for (PyObject* element : Elements(*slot.objects)) values_.push_back(to_double(element));
}

BoolListArgument::BoolListArgument(const Slot& slot) {
  if (slot.count == 0 || *slot.objects == Py_None) return;
  for (PyObject* element : Elements(*slot.objects)) values_.push_back(to_bool(element));
}

std::string_view to_string(PyObject* slot) {
  if (is_memory_format(slot)) return memory_format_name(slot);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(slot, &size);
  if (!text) throw_python_error();
  return {text, static_cast<size_t>(size)};
}

}  // namespace flambeau::python
