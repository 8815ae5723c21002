#include "python/objects/layout_object.h"

#include <array>

#include "python/base/shown_name.h"
#include "python/base/type_object.h"

namespace flambeau::python {

namespace {

/// A named constant: equal to itself only, pickled by name.
struct NamedConstant {
  PyObject_HEAD const char* name;
};

PyTypeObject *layout_type = nullptr, *format_type = nullptr;
PyObject* strided = nullptr;
std::array<PyObject*, 3> sparse{};  // in the order of SparseLayout

const char* name_of(PyObject* self) { return reinterpret_cast<NamedConstant*>(self)->name; }
PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("%s.%s", shown_name(), name_of(self));
}
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(name_of(self)); }

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot layout_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_doc,
     const_cast<char*>("How elements lie in memory: flambeau.strided, sparse_coo, sparse_csr or "
                       "sparse_csc.\n\nExample:\n"
                       "    >>> flambeau.eye(2).layout, flambeau.eye(2).to_sparse().layout\n"
                       "    (flambeau.strided, flambeau.sparse_coo)")},
    {0, nullptr}};
PyType_Slot format_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_doc,
     const_cast<char*>("The order of dimensions in memory: contiguous_format, channels_last, "
                       "channels_last_3d, or preserve_format."
                       "\n\nExample:\n"
                       "    >>> x = flambeau.zeros(2, 3, 4, 5)\n"
                       "    >>> x.to(memory_format=flambeau.channels_last).stride()\n"
                       "    (60, 1, 15, 3)")},
    {0, nullptr}};
constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec layout_spec = {"flambeau.layout", sizeof(NamedConstant), 0, kFlags, layout_slots};
PyType_Spec format_spec = {"flambeau.memory_format", sizeof(NamedConstant), 0, kFlags,
                           format_slots};

PyObject* add_constant(PyObject* module, PyTypeObject* type, const char* name) {
  PyObject* object = checked(type->tp_alloc(type, 0)).release();
  reinterpret_cast<NamedConstant*>(object)->name = name;
  checked(PyModule_AddObjectRef(module, name, object));
  return object;
}

}  // namespace

PyObject* strided_layout() { return strided; }
PyObject* sparse_layout(SparseLayout layout) { return sparse[static_cast<size_t>(layout)]; }
bool is_layout(PyObject* value) { return Py_TYPE(value) == layout_type; }
bool is_memory_format(PyObject* value) { return Py_TYPE(value) == format_type; }
const char* memory_format_name(PyObject* value) { return name_of(value); }

void add_layouts(PyObject* module) {
  layout_type = add_type(module, layout_spec);
  format_type = add_type(module, format_spec);
  strided = add_constant(module, layout_type, "strided");
  for (const auto layout : {SparseLayout::coo, SparseLayout::csr, SparseLayout::csc}) {
    sparse[static_cast<size_t>(layout)] = add_constant(module, layout_type, layout_name(layout));
  }
  for (const char* name :
       {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}) {
    add_constant(module, format_type, name);
  }
}

}  // namespace flambeau::python
