#pragma once

#include <Python.h>

#include <cstring>

#include "python/base/errors.h"

/// What the files share that make Python types.
namespace flambeau::python {

/// Makes a type and adds it to the module by the last part of its name.
inline PyTypeObject* add_type(PyObject* module, PyType_Spec& spec) {
  PyObject* type = checked(PyType_FromSpec(&spec)).release();
  checked(PyModule_AddObjectRef(module, std::strrchr(spec.name, '.') + 1, type));
  return reinterpret_cast<PyTypeObject*>(type);
}

/// An entry of a table of methods.
template <class Function>
PyCFunction c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace flambeau::python
