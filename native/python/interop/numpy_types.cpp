#include "python/interop/numpy_types.h"

#include <cstring>

#include "python/base/errors.h"

namespace flambeau::python {

namespace {

struct NumpyTypes {
  PyObject *generic = nullptr, *number = nullptr, *boolean = nullptr, *complex = nullptr,
           *array = nullptr;
};

PyObject* attribute(PyObject* module, const char* name) {
  PyObject* value = PyObject_GetAttrString(module, name);
  if (!value) PyErr_Clear();
  return value;
}

/// Null until NumPy has been imported; the types live as long as the process.
const NumpyTypes* numpy_types() {
  static NumpyTypes types;
  if (types.generic) return &types;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (!module) return nullptr;
  NumpyTypes found{attribute(module, "generic"), attribute(module, "number"),
                   attribute(module, "bool_"), attribute(module, "complexfloating"),
                   attribute(module, "ndarray")};
  // A half-imported NumPy (an import in progress) is asked again next time.
  if (!found.generic || !found.number || !found.boolean || !found.complex || !found.array) {
    for (PyObject* type : {found.generic, found.number, found.boolean, found.complex, found.array})
      Py_XDECREF(type);
    return nullptr;
  }
  types = found;
  return &types;
}

bool is_instance(PyObject* value, PyObject* NumpyTypes::*type) {
  const NumpyTypes* types = numpy_types();
  return types &&
         PyType_IsSubtype(Py_TYPE(value), reinterpret_cast<PyTypeObject*>(types->*type)) != 0;
}

}  // namespace

bool is_numpy_scalar(PyObject* value) { return is_instance(value, &NumpyTypes::generic); }
bool is_numpy_bool(PyObject* value) { return is_instance(value, &NumpyTypes::boolean); }
bool is_numpy_complex(PyObject* value) { return is_instance(value, &NumpyTypes::complex); }
bool is_numpy_array(PyObject* value) { return is_instance(value, &NumpyTypes::array); }
bool is_numpy_number(PyObject* value) {
  return is_instance(value, &NumpyTypes::number) || is_numpy_bool(value);
}

}  // namespace flambeau::python
