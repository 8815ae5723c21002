#include "autograd/accumulate.h"
#include "python/autograd_internal.h"

namespace flambeau::python {

using autograd::AccumulateGrad;
using autograd::Edge;
using autograd::Gradients;
using autograd::Node;

namespace {

/// The Python face of a node. The node knows it, so that there is one at a time.
struct NodeObject {
  Ref<Node> node;
  explicit NodeObject(Ref<Node> own) : node(std::move(own)) {}
  NodeObject(const NodeObject&) = delete;
  ~NodeObject() { node->python_object = nullptr; }
};

py::object steal(PyObject* object) { return py::reinterpret_steal<py::object>(object); }

py::tuple next_functions(const NodeObject& self) {
  py::tuple result(self.node->edges.size());
  for (size_t i = 0; i < self.node->edges.size(); ++i) {
    const Edge& edge = self.node->edges[i];
    result[i] = py::make_tuple(steal(wrap_node(edge.node)), edge.index);
  }
  return result;
}

/// Hooks and metadata of a node are kept in C++, for as long as it lives.
py::object metadata(const NodeObject& self) {
  auto& kept = self.node->extras().metadata;
  if (!kept) kept = hold(py::dict().ptr());
  return py::reinterpret_borrow<py::object>(static_cast<PyObject*>(kept.get()));
}

py::object call(const HeldObject& function, const py::tuple& arguments) {
  return steal(checked(PyObject_CallObject(function.get(), arguments.ptr())).release());
}

HookHandle handle_of(Node& node, uint64_t id) {
  node.extras();
  return {node.extras_if_any(), id};
}

HookHandle register_hook(const NodeObject& self, const py::function& function) {
  return handle_of(*self.node, autograd::add_post_hook(*self.node, [held = hold(function.ptr())](
                                                                       Gradients inputs,
                                                                       const Gradients& outputs) {
    const AcquireGil gil;
    const py::object result = call(held, py::make_tuple(to_tuple(inputs), to_tuple(outputs)));
    return result.is_none() ? Gradients() : to_gradients(result, "a hook of a node");
  }));
}

HookHandle register_prehook(const NodeObject& self, const py::function& function) {
  return handle_of(
      *self.node,
      autograd::add_pre_hook(*self.node, [held = hold(function.ptr())](Gradients outputs) {
        const AcquireGil gil;
        const py::object result = call(held, py::make_tuple(to_tuple(outputs)));
        return result.is_none() ? Gradients() : to_gradients(result, "a pre-hook of a node");
      }));
}

py::object variable(const NodeObject& self) {
  if (!self.node->is_accumulator) {
    throw py::attribute_error(std::string(self.node->name()) + " has no attribute 'variable'");
  }
  return steal(wrap(static_cast<const AccumulateGrad&>(*self.node).leaf()));
}

/// _saved_NAME, and whatever the context of an autograd.Function has.
py::object get_attribute(const NodeObject& self, const std::string& name) {
  constexpr const char* prefix = "_saved_";
  if (name.starts_with(prefix)) {
    for (const auto& [key, tensor] : self.node->saved_tensors()) {
      if (name.substr(std::char_traits<char>::length(prefix)) == key) return steal(wrap(tensor));
    }
  }
  if (PyObject* context = function_context(*self.node)) {
    return py::handle(context).attr(name.c_str());
  }
  throw py::attribute_error(std::string(self.node->name()) + " has no attribute '" + name + "'");
}

py::dict saved(const NodeObject& self) {
  py::dict result;
  for (const auto& [key, tensor] : self.node->saved_tensors()) {
    result[key] = steal(wrap(tensor));
  }
  return result;
}

}  // namespace

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->python_object) return Py_NewRef(static_cast<PyObject*>(node->python_object));
  py::object object = py::cast(std::make_unique<NodeObject>(node));
  node->python_object = object.ptr();
  return object.release().ptr();
}

py::tuple to_tuple(const Gradients& gradients) {
  py::tuple result(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) result[i] = steal(wrap(gradients[i]));
  return result;
}

Gradients to_gradients(py::handle value, const char* what) {
  Gradients result;
  const auto add = [&](py::handle item) {
    check(item.is_none() || is_tensor(item.ptr()), ErrorKind::type, what,
          " must give tensors or None, not ", describe_type(item.ptr()));
    result.push_back(item.is_none() ? Tensor() : unwrap(item.ptr()));
  };
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value)) {
    for (const py::handle item : value) add(item);
  } else {
    add(value);
  }
  return result;
}

std::vector<Tensor> to_tensors(py::handle value, const char* what) {
  std::vector<Tensor> result;
  const auto add = [&](py::handle item) {
    check(is_tensor(item.ptr()), ErrorKind::type, what, " must be a Tensor, not ",
          describe_type(item.ptr()));
    result.push_back(unwrap(item.ptr()));
  };
  if (is_tensor(value.ptr())) {
    add(value);
  } else {
    check(py::isinstance<py::iterable>(value), ErrorKind::type, what,
          " must be a Tensor or a sequence of them, not ", describe_type(value.ptr()));
    for (const py::handle item : py::reinterpret_borrow<py::iterable>(value)) add(item);
  }
  return result;
}

void bind_nodes(py::module_& module) {
  py::class_<HookHandle>(module, "RemovableHandle",
                         "A registered hook; remove() takes it out again.")
      .def("remove", &HookHandle::remove,
           "remove()\n--\n\n"
           "Takes the hook out again; a second call does nothing.")
      .def_readonly("id", &HookHandle::id, "Which of the hooks it is.")
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", [](const HookHandle& self, const py::args&) { self.remove(); });
  py::class_<NodeObject>(module, "Node", py::dynamic_attr(),
                         "One recorded operation: what grad_fn is.")
      .def(
          "name", [](const NodeObject& self) { return self.node->name(); },
          "name()\n--\n\n"
          "The name of the operation: 'MulBackward'.")
      .def_property_readonly("next_functions", &next_functions,
                             "For each input, the operation that made it (None: it has no "
                             "gradient) and which of its outputs it is.")
      .def_property_readonly("metadata", &metadata, "A dict for the user's own notes.")
      .def_property_readonly("variable", &variable,
                             "Of a node that accumulates: the leaf whose .grad it adds to.")
      .def("_saved", &saved,
           "_saved()\n--\n\n"
           "All saved tensors by name.")
      .def("_sequence_nr", [](const NodeObject& self) { return self.node->sequence.load(); })
      .def("register_hook", &register_hook, py::arg("fn"),
           "register_hook(fn)\n--\n\n"
           "Calls fn(grad_inputs, grad_outputs) after the node has run in backward; what it "
           "returns, unless None, replaces grad_inputs.")
      .def("register_prehook", &register_prehook, py::arg("fn"),
           "register_prehook(fn)\n--\n\n"
           "Calls fn(grad_outputs) before the node runs in backward; what it returns, unless None, "
           "replaces grad_outputs.")
      .def("__getattr__", &get_attribute)
      .def("__repr__", [](const NodeObject& self) {
        return concatenate("<", self.node->name(), " object at ",
                           static_cast<const void*>(self.node.get()), ">");
      });
}

}  // namespace flambeau::python
