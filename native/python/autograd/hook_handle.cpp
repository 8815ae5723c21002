#include "python/autograd/autograd_internal.h"
#include "python/base/type_object.h"

namespace flambeau::python {

using autograd::Node;

namespace {

/// What register_hook and its kin return: removes the hook, by remove() or at the end of a with.
struct HookHandle {
  PyObject_HEAD std::weak_ptr<Node::Extras> extras;
  uint64_t id;
};

PyTypeObject* handle_type = nullptr;

HookHandle* cast(PyObject* self) { return reinterpret_cast<HookHandle*>(self); }

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  cast(self)->extras.~weak_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* remove(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (const auto alive = cast(self)->extras.lock()) {
      autograd::remove_hook(*alive, cast(self)->id);
    }
    Py_RETURN_NONE;
  });
}
PyObject* enter(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* get_id(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(cast(self)->id); }

PyMethodDef methods[] = {{"remove", remove, METH_NOARGS,
                          "remove()\n--\n\nTakes the hook out again; a second call does nothing."},
                         {"__enter__", enter, METH_NOARGS, nullptr},
                         {"__exit__", remove, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"id", get_id, nullptr, "Which of the hooks it is.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("A registered hook; remove() takes it out again.")},
    {0, nullptr}};
PyType_Spec spec = {"flambeau._C._autograd.RemovableHandle", sizeof(HookHandle), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* make_handle(const std::shared_ptr<Node::Extras>& extras, uint64_t id) {
  PyObject* object = checked(handle_type->tp_alloc(handle_type, 0)).release();
  new (&cast(object)->extras) std::weak_ptr<Node::Extras>(extras);
  cast(object)->id = id;
  return object;
}

void add_handle_type(PyObject* module) { handle_type = add_type(module, spec); }

}  // namespace flambeau::python
