#pragma once

#include <Python.h>

#include <memory>

#include "python/base/gil.h"

namespace flambeau::python {

/// A Python object that C++ holds and may drop on any thread, with the GIL or without.
using HeldObject = std::shared_ptr<PyObject>;

/// How many there are; the GIL protects it.
inline long held_objects = 0;

/// Takes a reference of its own; the GIL is held.
inline HeldObject hold(PyObject* object) {
  ++held_objects;
  return HeldObject(Py_NewRef(object), [](PyObject* held) {
    if (!interpreter_alive()) return;
    const AcquireGil gil;
    --held_objects;
    Py_DECREF(held);
  });
}

}  // namespace flambeau::python
