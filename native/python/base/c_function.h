#pragma once

#include <Python.h>

namespace flambeau::python {

/// Adds the type of functions that flambeau.ops.c_function() makes, and `_make_c_function`.
void add_c_function_type(PyObject* module);

}  // namespace flambeau::python
