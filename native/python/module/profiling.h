#pragma once

#include <Python.h>

namespace flambeau::python {

/// Adds what flambeau.profiler is made of, as flambeau._C._profiler.
void add_profiling(PyObject* module);

}  // namespace flambeau::python
