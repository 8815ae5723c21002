#pragma once

#include <Python.h>

#include "core/tensor/sparse.h"

namespace flambeau::python {

/// flambeau.strided, the sparse layouts, and the memory formats, which are names only.
PyObject* strided_layout();                    // borrowed
PyObject* sparse_layout(SparseLayout layout);  // borrowed
bool is_layout(PyObject* value);
bool is_memory_format(PyObject* value);
/// "channels_last"; of a memory format only.
const char* memory_format_name(PyObject* value);
void add_layouts(PyObject* module);

}  // namespace flambeau::python
