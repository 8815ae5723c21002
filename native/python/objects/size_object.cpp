#include "python/objects/size_object.h"

#include "python/base/sequences.h"
#include "python/base/shown_name.h"
#include "python/calls/arguments.h"
#include "python/calls/results.h"

namespace flambeau::python {

namespace {

PyTypeObject* size_type = nullptr;

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  if (keywords && PyDict_GET_SIZE(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "Size() takes no keyword arguments");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    PyRef given = PyRef::borrow(args);
    if (PyTuple_GET_SIZE(args) == 1) {
      const PyRef items = tuple_of(PyTuple_GET_ITEM(args, 0), "Size");
      given = checked(PyTuple_Pack(1, items.get()));
    }
    PyRef result = checked(PyTuple_Type.tp_new(type, given.get(), nullptr));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(result.get(), i);
      if (PyLong_CheckExact(item)) continue;
      check(accepts(Parameter{"", Kind::integer}, item), ErrorKind::type, "Size(): element ", i,
            " must be an int, not ", describe_type(item));
      PyTuple_SET_ITEM(result.get(), i, checked(PyLong_FromLongLong(to_int(item))).release());
      Py_DECREF(item);
    }
    return result.release();
  });
}

PyObject* repr(PyObject* self) {
  const PyRef list(PySequence_List(self));
  return list ? PyUnicode_FromFormat("%s.Size(%R)", shown_name(), list.get()) : nullptr;
}

/// A tuple as a Size; steals it. Null stays null.
PyObject* as_size(PyObject* tuple) {
  if (!tuple || !PyTuple_CheckExact(tuple)) return tuple;
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  PyObject* size = size_type->tp_alloc(size_type, count);
  for (Py_ssize_t i = 0; size && i < count; ++i) {
    PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  }
  Py_DECREF(tuple);
  return size;
}

PyObject* subscript(PyObject* self, PyObject* key) {
  PyObject* value = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  // A full slice of an exact tuple is the tuple itself, of a Size a new tuple.
  return PySlice_Check(key) ? as_size(value) : value;
}
PyObject* concatenate_sizes(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  PyObject* result = PyTuple_Type.tp_as_sequence->sq_concat(a, b);
  // Adding an empty tuple may give back an operand unchanged.
  return as_size(result);
}
PyObject* add_sizes(PyObject* a, PyObject* b) {
  if (!PyTuple_Check(a) || !PyTuple_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* repeat(PyObject* self, Py_ssize_t count) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, count));
}
PyObject* numel(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const IntListArgument sizes(self);
    return PyLong_FromLongLong(checked_numel(sizes, "Size.numel"));
  });
}
PyObject* reduce(PyObject* self, PyObject*) {
  const PyRef items(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
  const PyRef list(items ? PySequence_List(items.get()) : nullptr);
  return list ? Py_BuildValue("(O(O))", size_type, list.get()) : nullptr;
}

PyMethodDef methods[] = {{"numel", numel, METH_NOARGS,
                          "numel()\n--\n\nThe number of elements of a tensor of this size."},
                         {"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(construct)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_methods, methods},
                       {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
                       {Py_sq_concat, reinterpret_cast<void*>(concatenate_sizes)},
                       {Py_nb_add, reinterpret_cast<void*>(add_sizes)},
                       {Py_sq_repeat, reinterpret_cast<void*>(repeat)},
                       {Py_tp_doc, const_cast<char*>("The shape of a tensor: a tuple of ints."
                                                     "\n\nExample:\n"
                                                     "    >>> flambeau.ones(2, 3).shape\n"
                                                     "    flambeau.Size([2, 3])\n"
                                                     "    >>> flambeau.Size([2, 3]).numel()\n"
                                                     "    6")},
                       {0, nullptr}};
PyType_Spec spec = {"flambeau.Size", 0, 0, Py_TPFLAGS_DEFAULT, slots};

/// Fills `tuple` with ints.
PyObject* filled(PyObject* tuple, IntList values) {
  if (!tuple) throw_python_error();
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  }
  return tuple;
}

}  // namespace

PyObject* to_size(IntList sizes) {
  return filled(size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size())), sizes);
}
PyObject* to_tuple(IntList values) {
  return filled(PyTuple_New(static_cast<Py_ssize_t>(values.size())), values);
}

void add_size_type(PyObject* module) {
  const PyRef bases = checked(PyTuple_Pack(1, &PyTuple_Type));
  size_type = reinterpret_cast<PyTypeObject*>(
      checked(PyType_FromSpecWithBases(&spec, bases.get())).release());
  checked(PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type)));
}

}  // namespace flambeau::python
