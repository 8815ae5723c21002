#include <Python.h>  // before structmember.h
#include <structmember.h>

#include <cstring>
#include <map>
#include <string>

#include "autograd/graph/accumulate.h"
#include "autograd/graph/ownership.h"
#include "python/autograd/autograd_internal.h"
#include "python/autograd/mirror.h"
#include "python/base/type_object.h"

namespace flambeau::python {

using autograd::AccumulateGrad;
using autograd::Edge;
using autograd::Gradients;
using autograd::Node;

namespace {

/// The Python face of a node. The node knows it, so that there is one at a time.
struct NodeObject {
  PyObject_HEAD Ref<Node> node;
  PyObject *dict, *weak_references;
};

PyTypeObject* node_type = nullptr;  // which those of each name derive from

NodeObject* cast(PyObject* self) { return reinterpret_cast<NodeObject*>(self); }
Node& node_of(PyObject* self) { return *cast(self)->node; }

// Lifetime --------------------------------------------------------------------------------------

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (cast(self)->weak_references) PyObject_ClearWeakRefs(self);
  node_of(self).python_object = nullptr;
  Py_CLEAR(cast(self)->dict);
  cast(self)->node.~Ref<Node>();
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(cast(self)->dict);
  if (detail::released_threads > 0) return 0;
  if (is_mirrored()) {
    Py_VISIT(mirror_image(node_of(self)));
    return 0;
  }
  const autograd::Ownership own(node_of(self), 1);
  for (void* object : own.objects()) Py_VISIT(static_cast<PyObject*>(object));
  return 0;
}

/// What stands in the place of a node that the collector took away.
struct CollectedNode final : Node {
  const char* own_name() const override { return "Collected"; }
  Gradients apply(Gradients&&) override { return {}; }
};

void drop_node(PyObject* self) {
  static const Ref<Node> collected(new CollectedNode);
  node_of(self).python_object = nullptr;
  const Ref<Node> dropped = std::exchange(cast(self)->node, collected);
}

int clear(PyObject* self) {
  Py_CLEAR(cast(self)->dict);
  if (detail::released_threads > 0 || is_mirrored()) return 0;
  if (autograd::Ownership(node_of(self), 1).holds()) drop_node(self);
  return 0;
}

// Attributes ------------------------------------------------------------------------------------

/// What types are called, without the namespace that names of nodes of no operator have.
const char* short_name(const char* name) {
  const char* const colon = std::strrchr(name, ':');
  return colon ? colon + 1 : name;
}

PyObject* name(PyObject* self, PyObject*) { return PyUnicode_FromString(node_of(self).name()); }
PyObject* sequence_number(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_of(self).sequence.load());
}
PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", short_name(node_of(self).name()),
                              cast(self)->node.get());
}

PyObject* next_functions(PyObject* self, void*) {
  return guarded([&] {
    const Node& node = node_of(self);
    PyRef result = checked(PyTuple_New(static_cast<Py_ssize_t>(node.edges.size())));
    for (size_t i = 0; i < node.edges.size(); ++i) {
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i),
                       edge_tuple(node.edges[i]).release());
    }
    return result.release();
  });
}

/// Hooks and metadata of a node are kept in C++, for as long as it lives.
PyObject* metadata(PyObject* self, void*) {
  return guarded([&] {
    auto& kept = node_of(self).extras().metadata;
    if (!kept) kept = hold(checked(PyDict_New()).get());
    return Py_NewRef(static_cast<PyObject*>(kept.get()));
  });
}

PyObject* variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node& node = node_of(self);
    if (node.is_accumulator) return wrap(static_cast<const AccumulateGrad&>(node).leaf());
    PyErr_Format(PyExc_AttributeError, "%s has no attribute 'variable'", node.name());
    return nullptr;
  });
}

PyObject* saved(PyObject* self, PyObject*) {
  return guarded([&] {
    PyRef result = checked(PyDict_New());
    for (const auto& [key, tensor] : node_of(self).saved_tensors()) {
      const PyRef value = checked(wrap(tensor));
      checked(PyDict_SetItemString(result.get(), std::string(key).c_str(), value.get()));
    }
    return result.release();
  });
}

/// What there is, then _saved_NAME, then whatever the context of an autograd.Function has.
PyObject* get_attribute(PyObject* self, PyObject* attribute) {
  if (PyObject* found = PyObject_GenericGetAttr(self, attribute)) return found;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  PyErr_Clear();
  return guarded([&]() -> PyObject* {
    constexpr std::string_view prefix = "_saved_";
    const std::string_view wanted = to_string(attribute);
    if (wanted.starts_with(prefix)) {
      for (const auto& [key, tensor] : node_of(self).saved_tensors()) {
        if (wanted.substr(prefix.size()) == key) return wrap(tensor);
      }
    }
    if (PyObject* context = function_context(node_of(self))) {
      return PyObject_GetAttr(context, attribute);
    }
    PyErr_Format(PyExc_AttributeError, "%s has no attribute '%U'", node_of(self).name(), attribute);
    return nullptr;
  });
}

// Hooks -----------------------------------------------------------------------------------------

Gradients to_gradients_if_any(PyObject* returned, const char* what) {
  return returned == Py_None ? Gradients() : to_gradients(returned, what);
}

PyObject* handle_of(Node& node, uint64_t id) { return make_handle(node.extras_if_any(), id); }

PyObject* register_hook(PyObject* self, PyObject* function) {
  return guarded([&] {
    check_callable(function, "Node.register_hook");
    const auto hook = [held = hold(function)](const Gradients& inputs, const Gradients& outputs) {
      const AcquireGil gil;
      const PyRef arguments = checked(PyTuple_New(2));
      PyTuple_SET_ITEM(arguments.get(), 0, to_tuple(inputs).release());
      PyTuple_SET_ITEM(arguments.get(), 1, to_tuple(outputs).release());
      const PyRef result = call_python(PyObject_CallObject, held.get(), arguments.get());
      return to_gradients_if_any(result.get(), "a hook of a node");
    };
    return handle_of(node_of(self), autograd::add_post_hook(node_of(self), hook, function));
  });
}

PyObject* register_prehook(PyObject* self, PyObject* function) {
  return guarded([&] {
    check_callable(function, "Node.register_prehook");
    const auto hook = [held = hold(function)](const Gradients& outputs) {
      const AcquireGil gil;
      const PyRef argument = to_tuple(outputs);
      const PyRef result = call_python(PyObject_CallOneArg, held.get(), argument.get());
      return to_gradients_if_any(result.get(), "a pre-hook of a node");
    };
    return handle_of(node_of(self), autograd::add_pre_hook(node_of(self), hook, function));
  });
}

PyMethodDef methods[] = {
    {"name", name, METH_NOARGS, "name()\n--\n\nThe name of the operation: 'MulBackward0'."},
    {"_saved", saved, METH_NOARGS, "_saved()\n--\n\nAll saved tensors by name."},
    {"_sequence_nr", sequence_number, METH_NOARGS, nullptr},
    {"register_hook", register_hook, METH_O,
     "register_hook(fn)\n--\n\n"
     "Calls fn(grad_inputs, grad_outputs) after the node has run in backward; what it returns, "
     "unless None, replaces grad_inputs."},
    {"register_prehook", register_prehook, METH_O,
     "register_prehook(fn)\n--\n\n"
     "Calls fn(grad_outputs) before the node runs in backward; what it returns, unless None, "
     "replaces grad_outputs."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {
    {"next_functions", next_functions, nullptr,
     "For each input, the operation that made it (None: it has no gradient) and which of its "
     "outputs it is.",
     nullptr},
    {"metadata", metadata, nullptr, "A dict for the user's own notes.", nullptr},
    {"variable", variable, nullptr, "Of a node that accumulates: the leaf whose .grad it adds to.",
     nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(NodeObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(NodeObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {Py_tp_doc,
     const_cast<char*>("One recorded operation: what grad_fn is."
                       "\n\nExample:\n"
                       "    >>> x = flambeau.ones(2, requires_grad=True)\n"
                       "    >>> node = (3 * x).sum().grad_fn\n"
                       "    >>> node.name(), [n.name() for n, _ in node.next_functions]\n"
                       "    ('SumBackward0', ['MulBackward0'])")},
    {0, nullptr}};
constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec spec = {"flambeau.autograd.graph.Node", sizeof(NodeObject), 0,
                    kFlags | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};

/// The type of the nodes of a name, made when Python first sees one of them.
PyTypeObject* type_called(const char* name) {
  static auto& types = *new std::map<std::string, PyTypeObject*, std::less<>>;
  if (const auto found = types.find(std::string_view(name)); found != types.end()) {
    return found->second;
  }
  PyType_Slot own_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)}, {0, nullptr}};
  const std::string full_name = concatenate("flambeau.autograd.graph.", short_name(name));
  PyType_Spec own_spec = {full_name.c_str(), sizeof(NodeObject), 0, kFlags, own_slots};
  PyObject* type =
      checked(PyType_FromSpecWithBases(&own_spec, reinterpret_cast<PyObject*>(node_type)))
          .release();
  return types.emplace(name, reinterpret_cast<PyTypeObject*>(type)).first->second;
}

}  // namespace

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->python_object) return Py_NewRef(static_cast<PyObject*>(node->python_object));
  PyTypeObject* type = type_called(node->name());
  PyObject* object = checked(type->tp_alloc(type, 0)).release();
  new (&cast(object)->node) Ref<Node>(node);
  node->python_object = object;
  return object;
}

PyRef edge_tuple(const Edge& edge) {
  const PyRef node = checked(wrap_node(edge.node));
  return checked(Py_BuildValue("OI", node.get(), static_cast<unsigned>(edge.index)));
}

const Node* node_behind(PyObject* object) {
  return PyObject_TypeCheck(object, node_type) ? cast(object)->node.get() : nullptr;
}

void drop_node_object(const Node& node) {
  if (node.python_object) drop_node(static_cast<PyObject*>(node.python_object));
}

void add_node_type(PyObject* module) { node_type = add_type(module, spec); }

}  // namespace flambeau::python
