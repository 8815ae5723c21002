#pragma once

#include <Python.h>

namespace flambeau::python {

/// `_C._taken`: calls of operators that Python computes (operators/taken.h), those of batches and
/// those that a mode or a class with `__torch_dispatch__` sees.
void add_taken(PyObject* module);

}  // namespace flambeau::python
