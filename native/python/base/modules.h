#pragma once

#include <Python.h>

#include <string>

#include "python/base/errors.h"

/// Modules and what they hold.
namespace flambeau::python {

/// `module` or one of its submodules, made when it is missing: "nn.functional". "": itself.
PyRef submodule(PyObject* module, const std::string& path);

/// As PyModule_AddFunctions does, but the functions tell the module that users know: flambeau in
/// place of flambeau._C.
void add_functions(PyObject* module, PyMethodDef* functions);
/// One function, which is returned.
PyRef add_function(PyObject* module, PyMethodDef& function);

}  // namespace flambeau::python
