#pragma once

#include <Python.h>

/// Recognises NumPy's scalars and arrays without importing NumPy: where it was never imported,
/// there are none.
namespace flambeau::python {

/// An instance of numpy.generic, and of its subclasses.
bool is_numpy_scalar(PyObject* value);
bool is_numpy_number(PyObject* value);  ///< numbers and bools, not strings or dates
bool is_numpy_bool(PyObject* value);
bool is_numpy_complex(PyObject* value);
bool is_numpy_array(PyObject* value);

}  // namespace flambeau::python
