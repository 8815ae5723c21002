#include "python/base/shown_name.h"

#include <Python.h>

namespace flambeau::python {

const char* shown_name() {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* alias = PyDict_GetItemString(modules, "torch");
  return alias && alias == PyDict_GetItemString(modules, "flambeau") ? "torch" : "flambeau";
}

}  // namespace flambeau::python
