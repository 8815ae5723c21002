#include <pybind11/pybind11.h>

#include "python/module/module.h"

PYBIND11_MODULE(_C, module) { flambeau::python::initialize_module(module.ptr()); }
