#pragma once

#include <Python.h>

#include <memory>

#include "python/gil.h"

namespace flambeau::python {

/// A Python object that C++ holds and may drop on any thread, with the GIL or without.
using HeldObject = std::shared_ptr<PyObject>;

/// Takes a reference of its own; the GIL is held.
inline HeldObject hold(PyObject* object) {
  return HeldObject(Py_NewRef(object), [](PyObject* held) {
    if (!interpreter_alive()) return;
    const AcquireGil gil;
    Py_DECREF(held);
  });
}

}  // namespace flambeau::python
