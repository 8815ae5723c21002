#include "python/base/sequences.h"
#include "python/base/names.h"

#include <cstddef>
#include <cstdlib>

#include "core/memory/system_memory.h"

namespace flambeau::python {

namespace {

bool is_list_or_tuple(PyObject* value) { return PyList_Check(value) || PyTuple_Check(value); }

/// Calls `use` on the elements that a sequence makes, while it answers with true and its length is
/// not reached.
template <class Use>
void for_each_made(PyObject* sequence, Py_ssize_t length, Use use) {
  const PyRef iterator = checked(PyObject_GetIter(sequence));
  for (Py_ssize_t i = 0; i < length; ++i) {
    const PyRef item(PyIter_Next(iterator.get()));
    if (!item && PyErr_Occurred()) throw_python_error();
    if (!item || !use(item.get())) return;
    if (i % 65'536 == 65'535) checked(PyErr_CheckSignals());
  }
}

/// Drops an exception of the kind that objects raise which are no sequences after all.
void drop_exception() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw_python_error();
  PyErr_Clear();
}

bool all_made(PyObject* sequence, bool (*test)(PyObject*)) {
  const Py_ssize_t length = PySequence_Size(sequence);
  if (length < 0) throw_python_error();
  if (!fits_memory(length)) return false;
  bool all = true;
  for_each_made(sequence, length, [&](PyObject* item) { return all = test(item); });
  return all;
}

}  // namespace

bool fits_memory(Py_ssize_t count) {
  constexpr size_t kBytesEach = sizeof(PyObject*) + sizeof(PyFloatObject);
  size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(count), kBytesEach, &bytes)) return false;
  try {
    std::free(system_memory(bytes + 1, alignof(std::max_align_t)));
  } catch (const OutOfMemory&) {
    return false;
  }
  return true;
}

Py_ssize_t length_of(PyObject* sequence) {
  if (is_list_or_tuple(sequence)) return PySequence_Fast_GET_SIZE(sequence);
  const Py_ssize_t length = PySequence_Size(sequence);
  if (length < 0) throw_python_error();
  return length;
}

PyRef list_or_tuple(PyObject* sequence, const char* op) {
  if (is_list_or_tuple(sequence)) return PyRef::borrow(sequence);
  const Py_ssize_t length = length_of(sequence);
  check(fits_memory(length), ErrorKind::value, op, "(): the ", length, " elements of a ",
        Py_TYPE(sequence)->tp_name, " do not fit in memory");
  PyRef list = checked(PyList_New(0));
  for_each_made(sequence, length,
                [&](PyObject* item) { return checked(PyList_Append(list.get(), item)) == 0; });
  return list;
}

Elements::Elements(PyObject* sequence, const char* op) : tuple_(list_or_tuple(sequence, op)) {
  if (PyList_Check(tuple_.get())) tuple_ = checked(PyList_AsTuple(tuple_.get()));
}

PyRef tuple_of(PyObject* values, const char* op) {
  if (PySequence_Check(values) && PyObject_HasAttr(values, interned<"__len__">())) {
    return Elements(values, op).tuple();
  }
  return checked(PySequence_Tuple(values));
}

bool all_of_sequence(PyObject* sequence, bool (*test)(PyObject*)) {
  if (!is_list_or_tuple(sequence)) {
    try {
      return all_made(sequence, test);
    } catch (const PythonError& error) {
      error.restore();
      drop_exception();
      return false;
    }
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    const PyRef item = PyRef::borrow(PySequence_Fast_GET_ITEM(sequence, i));
    if (!test(item.get())) return false;
  }
  return true;
}

}  // namespace flambeau::python
