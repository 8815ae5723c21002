#pragma once

#include <Python.h>

namespace flambeau::python {

/// Adds what asks and changes how the library works: memory, threads, dtypes.
void add_settings(PyObject* module);

}  // namespace flambeau::python
