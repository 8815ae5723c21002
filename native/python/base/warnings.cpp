#include "python/base/warnings.h"

#include <Python.h>

#include <string_view>

#include "python/base/errors.h"
#include "python/base/gil.h"
#include "python/base/names.h"

namespace flambeau::python {

namespace {

bool is_of_library(PyFrameObject* frame) {
  const PyRef globals(PyFrame_GetGlobals(frame));
  PyObject* name = PyDict_GetItemWithError(globals.get(), interned<"__name__">());
  const char* const letters = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!letters) {
    PyErr_Clear();  // a module may be called anything, or nothing
    return false;
  }
  const std::string_view text = letters;
  return text == "flambeau" || text.starts_with("flambeau.");
}

/// How many frames lie between here and the program, counted from 1.
Py_ssize_t user_level() {
  Py_ssize_t level = 1;
  PyRef frame = PyRef::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && is_of_library(reinterpret_cast<PyFrameObject*>(frame.get()))) {
    PyFrameObject* outer = PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()));
    frame = PyRef(reinterpret_cast<PyObject*>(outer));
    ++level;
  }
  return level;
}

}  // namespace

void warn_user(const std::string& message) {
  const AcquireGil gil;
  checked(PyErr_WarnEx(PyExc_UserWarning, message.c_str(), user_level()));
}

}  // namespace flambeau::python
