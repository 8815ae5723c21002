#include "python/autograd/autograd_bindings.h"

#include "autograd/engine/backward.h"
#include "autograd/graph/anomaly.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/saved.h"
#include "autograd/views/view.h"
#include "python/autograd/autograd_internal.h"
#include "python/autograd/mirror.h"
#include "python/calls/results.h"

namespace flambeau::python {

using autograd::BackwardOptions;
using autograd::Gradients;

namespace {

py::object steal(PyObject* object) { return py::reinterpret_steal<py::object>(object); }

/// Python nodes and hooks may run on other threads: the GIL is not held meanwhile.
Gradients run_released(TensorList roots, TensorList gradients, TensorList inputs,
                       const BackwardOptions& options) {
  const ReleaseGil release(INT64_MAX);
  return autograd::backward(roots, gradients, inputs, options);
}

py::tuple run_backward(const py::object& tensors, const py::object& grad_tensors, bool keep_graph,
                       bool create_graph, const py::object& inputs, bool allow_unused,
                       bool accumulate_grad) {
  const std::vector<Tensor> roots = to_tensors(tensors, "backward: a root");
  const Gradients gradients =
      grad_tensors.is_none() ? Gradients() : to_gradients(grad_tensors, "backward: grad_tensors");
  std::vector<Tensor> wanted;
  if (!inputs.is_none()) {
    wanted = to_tensors(inputs, "backward: an input");
    check(!wanted.empty(), ErrorKind::runtime, "backward: inputs must not be empty");
  }
  return to_tuple(run_released(roots, gradients, wanted,
                               {.keep_graph = keep_graph,
                                .create_graph = create_graph,
                                .accumulate = accumulate_grad,
                                .allow_unused = allow_unused}));
}

/// Tensor.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)
PyObject* tensor_backward(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject *gradient = Py_None, *retain_graph = Py_None, *inputs = Py_None;
  int create_graph = 0;
  if (PyTuple_GET_SIZE(args) != 0 || keywords) {
    static const char* names[] = {"gradient", "retain_graph", "create_graph", "inputs", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOpO:backward", const_cast<char**>(names),
                                     &gradient, &retain_graph, &create_graph, &inputs)) {
      return nullptr;
    }
  }
  return guarded([&]() -> PyObject* {
    check(gradient == Py_None || is_tensor(gradient), ErrorKind::type,
          "backward(): gradient must be a Tensor or None, not ", describe_type(gradient));
    const Tensor root = unwrap(self);
    const Tensor root_gradient = gradient == Py_None ? Tensor() : unwrap(gradient);
    std::vector<Tensor> wanted;
    if (inputs != Py_None) {
      wanted = to_tensors(inputs, "backward(): inputs");
      check(!wanted.empty(), ErrorKind::runtime, "backward(): inputs must not be empty");
    }
    int keep = create_graph;
    if (retain_graph != Py_None) keep = checked(PyObject_IsTrue(retain_graph));
    run_released(TensorList(&root, 1), TensorList(&root_gradient, 1), wanted,
                 {.keep_graph = keep != 0, .create_graph = create_graph != 0});
    Py_RETURN_NONE;
  });
}

PyObject* handle_of(const Tensor& tensor, uint64_t id) {
  return make_handle(autograd::gradient_edge(tensor).node->extras_if_any(), id);
}

PyObject* tensor_register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    check_callable(hook, "register_hook");
    const Tensor& tensor = unwrap(self);
    const uint64_t id = autograd::add_hook(
        tensor,
        [held = hold(hook)](const Tensor& gradient) -> Tensor {
          const AcquireGil gil;
          const PyRef argument = checked(wrap(gradient));
          const PyRef result = call_python(PyObject_CallOneArg, held.get(), argument.get());
          if (result.get() == Py_None) return Tensor();
          check(is_tensor(result.get()), ErrorKind::type,
                "a tensor's hook must return a Tensor or None, not ", describe_type(result.get()));
          return unwrap(result.get());
        },
        hook);
    track(self);
    return handle_of(tensor, id);
  });
}

PyObject* tensor_register_accumulated(PyObject* self, PyObject* hook) {
  return guarded([&] {
    check_callable(hook, "register_post_accumulate_grad_hook");
    const Tensor& tensor = unwrap(self);
    const uint64_t id = autograd::add_accumulated_hook(
        tensor,
        [held = hold(hook)](const Tensor& leaf) {
          const AcquireGil gil;
          const PyRef argument = checked(wrap(leaf));
          call_python(PyObject_CallOneArg, held.get(), argument.get());
        },
        hook);
    track(self);
    return handle_of(tensor, id);
  });
}

PyObject* tensor_detach_(PyObject* self, PyObject*) {
  return guarded([&] {
    autograd::detach_(unwrap(self));
    return Py_NewRef(self);
  });
}

PyObject* tensor_is_view(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(autograd::is_view(unwrap(self))); });
}

PyMethodDef tensor_methods_of_autograd[] = {
    {"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_backward)),
     METH_VARARGS | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\n"
     "Adds the gradients of this tensor to the .grad of the leaves (or of `inputs`)."},
    {"register_hook", tensor_register_hook, METH_O,
     "register_hook(hook)\n--\n\n"
     "Calls hook(grad) when the gradient is computed; what it returns replaces the gradient."},
    {"register_post_accumulate_grad_hook", tensor_register_accumulated, METH_O,
     "register_post_accumulate_grad_hook(hook)\n--\n\n"
     "Calls hook(tensor) after a backward has added to the .grad of this leaf."},
    {"detach_", tensor_detach_, METH_NOARGS,
     "detach_()\n--\n\nForgets the history of the tensor itself, which becomes a leaf."},
    {"_is_view", tensor_is_view, METH_NOARGS,
     "_is_view()\n--\n\nWhether autograd knows it as a view of another tensor."},
    {nullptr, nullptr, 0, nullptr}};

void add_tensor_methods() {
  for (PyMethodDef* method = tensor_methods_of_autograd; method->ml_name; ++method) {
    const PyRef descriptor = checked(PyDescr_NewMethod(tensor_type, method));
    checked(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), method->ml_name,
                                   descriptor.get()));
  }
}

void add_modes(py::module_& module) {
  module.def(
      "is_grad_enabled", [] { return grad_enabled(); },
      "is_grad_enabled()\n--\n\n"
      "Whether operations of this thread are recorded.");
  module.def(
      "_set_grad_enabled", [](bool enabled) { set_grad_enabled(enabled); }, py::arg("enabled"),
      "_set_grad_enabled(enabled)\n--\n\n"
      "Whether operations of this thread are recorded from now on.");
  module.def(
      "is_inference_mode_enabled", [] { return inference_mode; },
      "is_inference_mode_enabled()\n--\n\n"
      "Whether tensors that this thread makes are inference tensors.");
  module.def(
      "_set_inference_mode", [](bool enabled) { inference_mode = enabled; }, py::arg("enabled"),
      "_set_inference_mode(enabled)\n--\n\n"
      "Whether tensors that this thread makes are inference tensors from now on.");
  module.def(
      "is_anomaly_enabled", [] { return autograd::anomaly_enabled(); },
      "is_anomaly_enabled()\n--\n\n"
      "Whether anomaly detection is on.");
  module.def(
      "is_anomaly_check_nan_enabled", [] { return autograd::anomaly_checks_nan(); },
      "is_anomaly_check_nan_enabled()\n--\n\n"
      "Whether anomaly detection looks for NaN.");
  module.def(
      "set_anomaly_enabled",
      [](bool enabled, bool check_nan) { autograd::set_anomaly_enabled(enabled, check_nan); },
      py::arg("enabled"), py::arg("check_nan") = true,
      "set_anomaly_enabled(enabled, check_nan=True)\n--\n\n"
      "Turns anomaly detection on or off.");
}

void add_forward_mode(py::module_& module) {
  module.def("enter_dual_level", [] { return autograd::enter_forward_level(); });
  module.def(
      "exit_dual_level", [](uint32_t level) { autograd::exit_forward_level(level); },
      py::arg("level"));
  module.def(
      "make_dual",
      [](const py::object& tensor, const py::object& tangent) {
        const Tensor dual = autograd::alias(to_tensors(tensor, "make_dual(): tensor").at(0));
        autograd::set_tangent(dual, to_tensors(tangent, "make_dual(): tangent").at(0));
        return steal(wrap(dual));
      },
      py::arg("tensor"), py::arg("tangent"));
  module.def(
      "unpack_dual",
      [](const py::object& tensor) {
        const Tensor dual = to_tensors(tensor, "unpack_dual(): tensor").at(0);
        const Tensor tangent = autograd::tangent(dual);
        // The primal is a view without the tangent, with its history.
        return py::make_tuple(steal(wrap(autograd::alias(dual))), steal(wrap(tangent)));
      },
      py::arg("tensor"));
}

/// saved_tensors_hooks: pack(tensor) -> anything, unpack(that) -> tensor.
void push_hooks(const py::function& pack, const py::function& unpack) {
  auto hooks = std::make_shared<autograd::SavedTensorHooks>();
  hooks->pack = [held = hold(pack.ptr())](const Tensor& tensor) -> std::shared_ptr<void> {
    const AcquireGil gil;
    const PyRef argument = checked(wrap(tensor));
    return hold(call_python(PyObject_CallOneArg, held.get(), argument.get()).get());
  };
  hooks->unpack = [held = hold(unpack.ptr())](const std::shared_ptr<void>& value) {
    const AcquireGil gil;
    const PyRef result =
        call_python(PyObject_CallOneArg, held.get(), static_cast<PyObject*>(value.get()));
    check(is_tensor(result.get()), ErrorKind::type,
          "saved_tensors_hooks: unpack_hook must return a Tensor, not ",
          describe_type(result.get()));
    return unwrap(result.get());
  };
  hooks->objects[0] = pack.ptr();
  hooks->objects[1] = unpack.ptr();
  autograd::push_saved_tensor_hooks(std::move(hooks));
}

void add_saved_tensor_hooks(py::module_& module) {
  module.def("push_saved_tensor_hooks", &push_hooks, py::arg("pack"), py::arg("unpack"));
  module.def("pop_saved_tensor_hooks", &autograd::pop_saved_tensor_hooks);
  module.def("disable_saved_tensor_hooks", &autograd::disable_saved_tensor_hooks,
             py::arg("message"));
}

/// The Python stack, innermost call last.
std::string python_stack() {
  const AcquireGil gil;
  const py::object lines = py::module_::import("traceback").attr("format_stack")();
  return py::str("").attr("join")(lines).cast<std::string>();
}

void warn(const std::string& message) {
  const AcquireGil gil;
  // On its way is another error; a warning that was made an error must not replace it.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) < 0) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void check_callable(PyObject* hook, const char* method) {
  check(PyCallable_Check(hook), ErrorKind::type, method, "(): expected a callable, got ",
        describe_type(hook));
}

void bind_autograd(PyObject* module) {
  auto extension = py::reinterpret_borrow<py::module_>(module);
  // Classes that have no place among the public names of flambeau.
  auto classes = extension.def_submodule("_autograd");
  for (const auto add : {add_node_type, add_handle_type, add_context_type}) add(classes.ptr());
  add_mirror();
  bind_functions(classes);
  add_tensor_methods();
  add_modes(extension);
  add_forward_mode(classes);
  add_saved_tensor_hooks(classes);
  classes.def("run_backward", &run_backward, py::arg("tensors"), py::arg("grad_tensors"),
              py::arg("keep_graph"), py::arg("create_graph"), py::arg("inputs"),
              py::arg("allow_unused"), py::arg("accumulate_grad"));
  classes.def(
      "queue_callback",
      [](const py::function& callback) {
        autograd::queue_callback([held = hold(callback.ptr())] {
          const AcquireGil gil;
          call_python(PyObject_CallNoArgs, held.get());
        });
      },
      py::arg("callback"));
  classes.def(
      "gradient_edge",
      [](const py::object& tensor) {
        const autograd::Edge edge = autograd::gradient_edge(to_tensors(tensor, "tensor").at(0));
        check(static_cast<bool>(edge), ErrorKind::runtime,
              "get_gradient_edge(): the tensor does not require grad");
        return py::make_tuple(steal(wrap_node(edge.node)), edge.index);
      },
      py::arg("tensor"));
  autograd::describe_forward_location = &python_stack;
  autograd::show_warning = &warn;
}

}  // namespace flambeau::python
