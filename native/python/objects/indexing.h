#pragma once

#include <Python.h>

namespace flambeau::python {

/// self[key]: a view for ints, slices, None and Ellipsis, a copy where a tensor, a list or an array
/// selects.
PyObject* get_item(PyObject* self, PyObject* key);
/// self[key] = value; deletion is refused.
int set_item(PyObject* self, PyObject* key, PyObject* value);

}  // namespace flambeau::python
