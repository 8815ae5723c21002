#include "python/objects/dtype_object.h"

#include <string>

#include "dtype_names.h"  // generated
#include "python/base/shown_name.h"
#include "python/base/type_object.h"
#include "python/calls/arguments.h"
#include "python/calls/results.h"

namespace flambeau::python {

PyTypeObject* dtype_type = nullptr;

namespace {

struct DTypeObject {
  PyObject_HEAD DType dtype;
};

PyObject* dtype_objects[kDTypeCount];

DType value_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("%s.%s", shown_name(), name(value_of(self)));
}
/// Pickled as the global of this name.
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(name(value_of(self))); }
PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(name(value_of(self))); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(size_of(value_of(self))); }
PyObject* get_is_floating(PyObject* self, void*) {
  return PyBool_FromLong(is_floating(value_of(self)));
}
PyObject* get_is_complex(PyObject* self, void*) {
  return PyBool_FromLong(is_complex(value_of(self)));
}
PyObject* get_is_signed(PyObject* self, void*) {
  return PyBool_FromLong(is_signed(value_of(self)));
}
const char* tensor_type_of(DType dtype) {
  switch (dtype) {
#define FLAMBEAU_CASE(name, tensor_type, bits) \
  case DType::name:                            \
    return tensor_type;
    FLAMBEAU_FOR_EACH_DTYPE_PROPERTY(FLAMBEAU_CASE)
#undef FLAMBEAU_CASE
  }
  return "";
}
int significant_bits_of(DType dtype) {
  switch (dtype) {
#define FLAMBEAU_CASE(name, tensor_type, bits) \
  case DType::name:                            \
    return bits;
    FLAMBEAU_FOR_EACH_DTYPE_PROPERTY(FLAMBEAU_CASE)
#undef FLAMBEAU_CASE
  }
  return 0;
}
PyObject* get_tensor_type(PyObject* self, void*) {
  return PyUnicode_FromString(tensor_type_of(value_of(self)));
}
PyObject* get_significant_bits(PyObject* self, void*) {
  return PyLong_FromLong(significant_bits_of(value_of(self)));
}
PyObject* to_real(PyObject* self, PyObject*) {
  return Py_NewRef(dtype_object(real_dtype(value_of(self))));
}
PyObject* to_complex(PyObject* self, PyObject*) {
  return guarded([&] { return Py_NewRef(dtype_object(complex_dtype(value_of(self)))); });
}

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {"to_real", to_real, METH_NOARGS,
     "to_real()\n--\n\nThe real type that a complex one is made of; self if real."},
    {"to_complex", to_complex, METH_NOARGS,
     "to_complex()\n--\n\nThe complex type made of this real one."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"name", get_name, nullptr, "The name without the module: 'float32'.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"is_floating_point", get_is_floating, nullptr, "Whether elements are real floats.", nullptr},
    {"is_complex", get_is_complex, nullptr, "Whether elements are complex.", nullptr},
    {"_tensor_type", get_tensor_type, nullptr, "Of Tensor.type(): 'Float' of FloatTensor.",
     nullptr},
    {"_significant_bits", get_significant_bits, nullptr,
     "Of real floats: bits of the significand, the first one among them; else 0.", nullptr},
    {"is_signed", get_is_signed, nullptr, "Whether elements can be negative.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc,
     const_cast<char*>("The type of a tensor's elements."
                       "\n\nExample:\n"
                       "    >>> flambeau.ones(2).dtype\n"
                       "    flambeau.float32\n"
                       "    >>> flambeau.float16.itemsize, flambeau.float16.is_floating_point\n"
                       "    (2, True)")},
    {0, nullptr}};
PyType_Spec spec = {"flambeau.dtype", sizeof(DTypeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

/// Other names of the same type.
struct Alias {
  const char* name;
  DType dtype;
};
constexpr Alias kAliases[] = {
#define FLAMBEAU_ALIAS(dtype, name) {name, DType::dtype},
    FLAMBEAU_FOR_EACH_DTYPE_ALIAS(FLAMBEAU_ALIAS)
#undef FLAMBEAU_ALIAS
};

}  // namespace

PyObject* dtype_object(DType dtype) { return dtype_objects[static_cast<int>(dtype)]; }
bool is_dtype(PyObject* value) { return Py_TYPE(value) == dtype_type; }
bool is_dtype_like(PyObject* value) {
  auto* type = reinterpret_cast<PyTypeObject*>(value);
  return is_dtype(value) || type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type ||
         type == &PyComplex_Type;
}

DType to_dtype(PyObject* slot) {
  if (is_dtype(slot)) return value_of(slot);
  auto* type = reinterpret_cast<PyTypeObject*>(slot);
  if (type == &PyFloat_Type) return DType::float64;
  if (type == &PyLong_Type) return DType::int64;
  if (type == &PyBool_Type) return DType::bool_;
  if (type == &PyComplex_Type) return DType::complex128;
  fail(ErrorKind::type, "expected a flambeau.dtype, got ", describe_type(slot));
}

PyObject* to_python(DType dtype) { return Py_NewRef(dtype_object(dtype)); }

void add_dtypes(PyObject* module) {
  dtype_type = add_type(module, spec);
  for (int i = 0; i < kDTypeCount; ++i) {
    PyObject* object = checked(dtype_type->tp_alloc(dtype_type, 0)).release();
    reinterpret_cast<DTypeObject*>(object)->dtype = static_cast<DType>(i);
    dtype_objects[i] = object;
    checked(PyModule_AddObjectRef(module, kDTypes[i].name, object));
  }
  for (const Alias& alias : kAliases) {
    checked(PyModule_AddObjectRef(module, alias.name, dtype_object(alias.dtype)));
  }
}

}  // namespace flambeau::python
