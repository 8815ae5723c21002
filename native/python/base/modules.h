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
/// What functions of a module say that theirs is called.
PyRef name_for_functions(PyObject* module);
/// One function, which is returned.
PyRef add_function(PyObject* module, PyObject* name, PyMethodDef& function);

}  // namespace flambeau::python
