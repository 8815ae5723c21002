#pragma once

/// Python objects as C++ values.

#include <Python.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"
#include "python/base/errors.h"
#include "python/base/gil.h"
#include "python/calls/records.h"
#include "python/objects/tensor_object.h"

namespace flambeau {
class Generator;
}

namespace flambeau::python {

/// Whether an optional argument was given, and is not None.
inline bool given(PyObject* slot) { return slot != nullptr && slot != Py_None; }

// Numbers --------------------------------------------------------------------------------------

namespace detail {
FLAMBEAU_API int64_t int_slow(PyObject* value);
FLAMBEAU_API double double_slow(PyObject* value);
FLAMBEAU_API bool bool_slow(PyObject* value);
FLAMBEAU_API Scalar scalar_slow(PyObject* value);
}  // namespace detail

/// The value of an exact int of one machine digit; false for others.
inline bool small_int(PyObject* value, int64_t& result) {
  if (!PyLong_CheckExact(value)) return false;
#if PY_VERSION_HEX >= 0x030C0000
  const auto* number = reinterpret_cast<const PyLongObject*>(value);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  result = PyUnstable_Long_CompactValue(number);
#else
  const Py_ssize_t size = Py_SIZE(value);
  if (static_cast<size_t>(size + 1) > 2) return false;
  result = size * static_cast<int64_t>(reinterpret_cast<const PyLongObject*>(value)->ob_digit[0]);
#endif
  return true;
}

inline int64_t to_int(PyObject* value) {
  int64_t result;
  return FLAMBEAU_LIKELY(small_int(value, result)) ? result : detail::int_slow(value);
}
inline double to_double(PyObject* value) {
  return PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : detail::double_slow(value);
}
inline bool to_bool(PyObject* value) {
  return value == Py_True || (value != Py_False && detail::bool_slow(value));
}
/// False unless the object is exactly a float, a small int or a bool.
inline bool quick_scalar(PyObject* value, Scalar& result) {
  if (PyFloat_CheckExact(value)) {
    result = Scalar(PyFloat_AS_DOUBLE(value));
    return true;
  }
  if (int64_t integer; small_int(value, integer)) {
    result = Scalar(integer);
    return true;
  }
  if (PyBool_Check(value)) {
    result = Scalar(value == Py_True);
    return true;
  }
  return false;
}
inline bool is_small_int(PyObject* value) {
  int64_t ignored;
  return small_int(value, ignored);
}
inline bool is_exact_number(PyObject* value) {
  return PyFloat_CheckExact(value) || is_small_int(value) || PyBool_Check(value);
}
inline Scalar to_scalar(PyObject* value) {
  Scalar result;
  return FLAMBEAU_LIKELY(quick_scalar(value, result)) ? result : detail::scalar_slow(value);
}
/// The same, of integers up to those of uint64.
FLAMBEAU_API Scalar to_wide_scalar(PyObject* value);
/// Whether arithmetic takes it for a number: Python's and NumPy's scalars, not arrays.
FLAMBEAU_API bool is_number(PyObject* value);

inline int64_t to_int(PyObject* slot, int64_t otherwise) { return slot ? to_int(slot) : otherwise; }
inline bool to_bool(PyObject* slot, bool otherwise) { return slot ? to_bool(slot) : otherwise; }

// Tensors --------------------------------------------------------------------------------------

namespace detail {
FLAMBEAU_API extern const Tensor undefined;
}
inline const Tensor& to_tensor(PyObject* slot) {
  return given(slot) ? unwrap(slot) : detail::undefined;
}
inline Operand to_operand(PyObject* slot) {
  if (is_exact_tensor(slot)) return Operand(unwrap(slot));
  if (PyFloat_CheckExact(slot)) return Operand(PyFloat_AS_DOUBLE(slot));
  if (int64_t value; small_int(slot, value)) return Operand(value);
  return is_tensor(slot) ? Operand(unwrap(slot)) : Operand(to_scalar(slot));
}

/// An Operand if the object is exactly a Tensor, float, small int or bool. Borrows the tensor.
class QuickOperand {
 public:
  explicit QuickOperand(PyObject* value) : operand_(Scalar()) {
    if (is_exact_tensor(value)) {
      operand_ = Operand(unwrap(value));
      ok_ = true;
    } else if (Scalar number; quick_scalar(value, number)) {
      operand_ = Operand(number);
      ok_ = true;
    }
  }
  explicit operator bool() const { return ok_; }
  const Operand& operator*() const { return operand_; }

 private:
  Operand operand_;
  bool ok_ = false;
};

class FLAMBEAU_API TensorListArgument {
 public:
  explicit TensorListArgument(const Slot& slot);
  operator TensorList() const { return tensors_; }  // implicit on purpose

 private:
  std::vector<Tensor> tensors_;
};

// Lists of numbers -----------------------------------------------------------------------------

/// Whether it is a list or a tuple of what passes a test that runs no Python code.
template <class Test>
bool is_list_of(PyObject* object, Test test) {
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return false;
  PyObject* const* const items = PySequence_Fast_ITEMS(object);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!test(items[i])) return false;
  }
  return true;
}

class FLAMBEAU_API IntListArgument {
 public:
  explicit IntListArgument(const Slot& slot) {
    if (slot.count > 0) {
      read(slot);
    } else {
      list_ = slot.parameter->otherwise.integers();
    }
  }
  /// An int, or a sequence of ints.
  explicit IntListArgument(PyObject* object) { read(object, 1); }
  IntListArgument(const IntListArgument&) = delete;
  IntListArgument& operator=(const IntListArgument&) = delete;
  operator IntList() const { return list_; }  // implicit on purpose

 private:
  void read(const Slot& slot);
  void read(PyObject* object, int length);
  IntList list_;
  std::optional<Shape> values_;
};

class FLAMBEAU_API FloatListArgument {
 public:
  explicit FloatListArgument(const Slot& slot);
  operator std::span<const double>() const { return values_; }

 private:
  std::vector<double> values_;
};

class FLAMBEAU_API BoolListArgument {
 public:
  explicit BoolListArgument(const Slot& slot);
  operator std::span<const bool>() const {
    return {reinterpret_cast<const bool*>(values_.data()), values_.size()};
  }

 private:
  std::vector<char> values_;
};

// The rest -------------------------------------------------------------------------------------

FLAMBEAU_API DType to_dtype(PyObject* slot);
FLAMBEAU_API Device to_device(PyObject* slot);
FLAMBEAU_API std::string_view to_string(PyObject* slot);
/// Null for None and for an empty slot: the default generator.
FLAMBEAU_API Generator* to_generator(PyObject* slot);

inline std::optional<DType> to_optional_dtype(PyObject* slot) {
  return given(slot) ? std::optional<DType>(to_dtype(slot)) : std::nullopt;
}
inline std::optional<Device> to_optional_device(PyObject* slot) {
  return given(slot) ? std::optional<Device>(to_device(slot)) : std::nullopt;
}

/// Whether a tensor has the layout that `parameter` accepts.
FLAMBEAU_API bool has_layout(const Parameter& parameter, PyObject* tensor);
/// Whether the object is what `parameter` accepts (without None): what overloads are chosen by.
FLAMBEAU_API bool accepts(const Parameter& parameter, PyObject* value);
/// "Tensor", "int", "list of str": how messages name an argument's type.
FLAMBEAU_API std::string describe_type(PyObject* value);

}  // namespace flambeau::python
