#pragma once

#include <Python.h>

namespace flambeau::python {

/// flambeau.strided, flambeau.sparse_coo, and the memory formats, which are names only.
PyObject* strided_layout();     // borrowed
PyObject* sparse_coo_layout();  // borrowed
bool is_layout(PyObject* value);
bool is_memory_format(PyObject* value);
/// "channels_last"; of a memory format only.
const char* memory_format_name(PyObject* value);
void add_layouts(PyObject* module);

}  // namespace flambeau::python
