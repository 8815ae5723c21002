#pragma once

#include <Python.h>

#include "core/backends/device.h"

namespace flambeau::python {

bool is_device(PyObject* value);
/// A device, its name as a str, or the index of a CUDA device.
bool is_device_like(PyObject* value);
/// flambeau.device
void add_device_type(PyObject* module);

}  // namespace flambeau::python
