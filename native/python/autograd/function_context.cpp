#include "python/autograd/function_context.h"

#include <structmember.h>

#include "python/autograd/autograd_internal.h"
#include "python/base/type_object.h"

namespace flambeau::python {

namespace {

PyTypeObject* context_type = nullptr;

FunctionContext* cast(PyObject* self) { return reinterpret_cast<FunctionContext*>(self); }

// Lifetime --------------------------------------------------------------------------------------

PyObject* construct(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  new (&cast(self)->needs) std::vector<bool>();
  cast(self)->materializes = true;
  return self;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const FunctionContext& context = *cast(self);
  for (PyObject* part : {context.to_save, context.saved_for_forward, context.dirty,
                         context.non_differentiable, context.dict}) {
    Py_VISIT(part);
  }
  return 0;
}

int clear(PyObject* self) {
  FunctionContext& context = *cast(self);
  Py_CLEAR(context.to_save);
  Py_CLEAR(context.saved_for_forward);
  Py_CLEAR(context.dirty);
  Py_CLEAR(context.non_differentiable);
  Py_CLEAR(context.dict);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (cast(self)->weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  cast(self)->needs.~vector();
  type->tp_free(self);
  Py_DECREF(type);
}

// Attributes ------------------------------------------------------------------------------------

/// Keeps the arguments in a field, in place of what it had.
template <PyObject* FunctionContext::*field>
PyObject* keep(PyObject* self, PyObject* args) {
  Py_XSETREF(cast(self)->*field, Py_NewRef(args));
  Py_RETURN_NONE;
}

PyObject* set_materialize_grads(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"value", nullptr};
  int value = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "p:set_materialize_grads",
                                   const_cast<char**>(names), &value)) {
    return nullptr;
  }
  cast(self)->materializes = value != 0;
  Py_RETURN_NONE;
}

PyObject* tuple_or_empty(PyObject* tuple) { return tuple ? Py_NewRef(tuple) : PyTuple_New(0); }

PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const FunctionContext& context = *cast(self);
    if (context.in_jvp && context.saved_for_forward) return Py_NewRef(context.saved_for_forward);
    // Without a graph nothing is kept for backward; setup_context and jvp see what was given.
    if (!context.is_set_up || !context.node) return tuple_or_empty(context.to_save);
    const auto& saved = context.node->saved;
    const PyRef result = checked(PyTuple_New(static_cast<Py_ssize_t>(saved.size())));
    for (size_t i = 0; i < saved.size(); ++i) {
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i),
                       wrap(saved[i].unpack_original(*context.node)));
    }
    return Py_NewRef(result.get());
  });
}

PyObject* saved_for_forward(PyObject* self, void*) {
  return tuple_or_empty(cast(self)->saved_for_forward);
}

PyObject* needs_input_grad(PyObject* self, void*) {
  return guarded([&] {
    const FunctionContext& context = *cast(self);
    PyRef result = checked(PyTuple_New(static_cast<Py_ssize_t>(context.needs.size())));
    for (size_t i = 0; i < context.needs.size(); ++i) {
      const bool needed = context.needs[i] && (!context.node || context.node->wants(i));
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(needed));
    }
    return result.release();
  });
}

PyMethodDef methods[] = {
    {"save_for_backward", keep<&FunctionContext::to_save>, METH_VARARGS,
     "save_for_backward(*tensors)\n--\n\n"
     "Keeps tensors (or None) for backward, which finds them in saved_tensors. A second call "
     "replaces them."},
    {"save_for_forward", keep<&FunctionContext::saved_for_forward>, METH_VARARGS,
     "save_for_forward(*tensors)\n--\n\n"
     "Keeps tensors for jvp, which finds them in saved_tensors."},
    {"mark_dirty", keep<&FunctionContext::dirty>, METH_VARARGS,
     "mark_dirty(*args)\n--\n\n"
     "Says which inputs forward has written in place; they are to be returned."},
    {"mark_non_differentiable", keep<&FunctionContext::non_differentiable>, METH_VARARGS,
     "mark_non_differentiable(*args)\n--\n\nSays which results have no gradient."},
    {"set_materialize_grads", c_function(set_materialize_grads), METH_VARARGS | METH_KEYWORDS,
     "set_materialize_grads(value)\n--\n\n"
     "Whether backward gets zeros (True, the default) or None for results that have no gradient."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {
    {"saved_tensors", saved_tensors, nullptr,
     "What save_for_backward kept; RuntimeError where one was written since.", nullptr},
    {"saved_for_forward", saved_for_forward, nullptr, "What save_for_forward kept.", nullptr},
    {"needs_input_grad", needs_input_grad, nullptr,
     "Whether the gradient of each argument of forward is wanted: a tuple of bools.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionContext, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionContext, weak_references), READONLY,
     nullptr},
    {"_in_jvp", T_BOOL, offsetof(FunctionContext, in_jvp), 0, "Whether jvp runs."},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(construct)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_tp_doc, const_cast<char*>("What forward of an autograd.Function leaves for backward.")},
    {0, nullptr}};
PyType_Spec spec = {"flambeau.autograd.function.FunctionCtx", sizeof(FunctionContext), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

FunctionContext& to_context(PyObject* object) {
  check(PyObject_TypeCheck(object, context_type), ErrorKind::type,
        "autograd.Function: expected a FunctionCtx as context, got ", describe_type(object));
  return *cast(object);
}

void add_context_type(PyObject* module) { context_type = add_type(module, spec); }

}  // namespace flambeau::python
