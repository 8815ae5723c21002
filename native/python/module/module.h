#pragma once

#include <Python.h>

#include "core/base/macros.h"

namespace flambeau::python {

/// The module flambeau._C; null with an exception set. What it is made of lies in
/// libflambeau_python.so, which extension modules of others link too.
FLAMBEAU_API PyObject* create_module(PyModuleDef& definition);

}  // namespace flambeau::python
