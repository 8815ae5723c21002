#pragma once

#include <Python.h>

#include "core/base/macros.h"

namespace flambeau::python {

/// Fills the module flambeau._C. What it is made of lies in libflambeau_python.so, which extension
/// modules of others link too. Throws pybind11::error_already_set.
FLAMBEAU_API void initialize_module(PyObject* module);

}  // namespace flambeau::python
