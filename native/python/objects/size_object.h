#pragma once

#include <Python.h>

namespace flambeau::python {

/// flambeau.Size, a tuple of ints; made by to_size() of results.h.
void add_size_type(PyObject* module);

}  // namespace flambeau::python
