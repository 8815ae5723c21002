#pragma once

#include <Python.h>

#include "core/types/dtype.h"

namespace flambeau::python {

/// flambeau.dtype: one object per element type, compared by identity.
FLAMBEAU_API extern PyTypeObject* dtype_type;
PyObject* dtype_object(DType dtype);  // borrowed, immortal
bool is_dtype(PyObject* value);
/// A dtype, or one of the Python types bool, int, float, complex.
bool is_dtype_like(PyObject* value);
/// Adds the type and its objects, by every name that a dtype has.
void add_dtypes(PyObject* module);

}  // namespace flambeau::python
