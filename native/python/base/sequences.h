#pragma once

#include <Python.h>

#include "python/base/errors.h"

/// Sequences that come from Python: they may tell wrong lengths, hold themselves, have no end, or
/// change when their elements are looked at.
namespace flambeau::python {

/// How many elements: of a list or a tuple those that it holds, whatever its class says.
Py_ssize_t length_of(PyObject* sequence);

/// A list or a tuple itself. Another sequence makes its elements one by one: a list of as many as
/// it has a length. Error(value) that names `op` when memory cannot hold that many.
PyRef list_or_tuple(PyObject* sequence, const char* op);

/// Whether a list of so many objects fits in memory.
bool fits_memory(Py_ssize_t count);

/// A sequence's elements as they are now.
class Elements {
 public:
  explicit Elements(PyObject* sequence, const char* op = "sequence");
  PyObject** begin() const { return &PyTuple_GET_ITEM(tuple_.get(), 0); }
  PyObject** end() const { return begin() + size(); }
  Py_ssize_t size() const { return PyTuple_GET_SIZE(tuple_.get()); }
  const PyRef& tuple() const { return tuple_; }

 private:
  PyRef tuple_;
};

/// A tuple of what a sequence or an iterator holds.
PyRef tuple_of(PyObject* values, const char* op);

/// Calls `test` on the elements, the first that fails being the last. Tests may run Python code,
/// which may change a list. False for a sequence that raises, or does not fit in memory.
bool all_of_sequence(PyObject* sequence, bool (*test)(PyObject*));

}  // namespace flambeau::python
