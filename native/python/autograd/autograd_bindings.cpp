#include "python/autograd/autograd_bindings.h"

#include "autograd/engine/backward.h"
#include "autograd/graph/accumulate.h"
#include "autograd/graph/anomaly.h"
#include "autograd/graph/extent.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/saved.h"
#include "autograd/views/view.h"
#include "python/autograd/autograd_internal.h"
#include "python/autograd/mirror.h"
#include "python/base/modules.h"
#include "python/base/names.h"
#include "python/calls/define.h"
#include "python/calls/results.h"

namespace flambeau::python {

using autograd::BackwardOptions;
using autograd::Gradients;

namespace {

/// Python nodes and hooks may run on other threads: the GIL is not held meanwhile.
Gradients run_released(TensorList roots, TensorList gradients, TensorList inputs,
                       const BackwardOptions& options) {
  const ReleaseGil release(INT64_MAX);
  return autograd::backward(roots, gradients, inputs, options);
}

const Tensor& single_tensor(PyObject* value, const char* what) {
  check(is_tensor(value), ErrorKind::type, what, " must be a Tensor, not ", describe_type(value));
  return unwrap(value);
}

std::vector<Tensor> to_inputs(PyObject* inputs, const char* what) {
  if (inputs == Py_None) return {};
  std::vector<Tensor> wanted = to_tensors(inputs, what);
  check(!wanted.empty(), ErrorKind::runtime, "backward: inputs must not be empty");
  return wanted;
}

PyRef run_backward(PyObject* tensors, PyObject* grad_tensors, bool keep_graph, bool create_graph,
                   PyObject* inputs, bool allow_unused, bool accumulate_grad) {
  const std::vector<Tensor> roots = to_tensors(tensors, "backward: a root");
  const Gradients gradients =
      grad_tensors == Py_None ? Gradients() : to_gradients(grad_tensors, "backward: grad_tensors");
  return to_tuple(run_released(roots, gradients, to_inputs(inputs, "backward: an input"),
                               {.keep_graph = keep_graph,
                                .create_graph = create_graph,
                                .accumulate = accumulate_grad,
                                .allow_unused = allow_unused}));
}

constexpr Parameter backward_run[] = {
    {"tensors", Kind::object},         {"grad_tensors", Kind::object},
    {"keep_graph", Kind::boolean},     {"create_graph", Kind::boolean},
    {"inputs", Kind::object},          {"allow_unused", Kind::boolean},
    {"accumulate_grad", Kind::boolean}};

void tensor_backward(const Tensor& self, const Tensor& gradient, std::optional<bool> retain_graph,
                     bool create_graph, PyObject* inputs) {
  const Tensor root = self, root_gradient = gradient;
  run_released(TensorList(&root, 1), TensorList(&root_gradient, 1),
               to_inputs(inputs, "backward(): inputs"),
               {.keep_graph = retain_graph.value_or(create_graph), .create_graph = create_graph});
}

constexpr Parameter backward_method[] = {{"self", Kind::tensor},
                                         {"gradient", Kind::tensor, "None", kNone},
                                         {"retain_graph", Kind::boolean, "None", kNone},
                                         {"create_graph", Kind::boolean, {"False", false}},
                                         {"inputs", Kind::object, "None"}};

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
    define_method<"backward", tensor_backward, backward_method>(
        "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)\n--\n\n"
        "Adds the gradients of this tensor to the .grad of the leaves (or of `inputs`)."),
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

// Modes -----------------------------------------------------------------------------------------

bool is_grad_enabled() { return grad_enabled(); }
void change_grad_enabled(bool enabled) { set_grad_enabled(enabled); }
bool is_inference_mode_enabled() { return inference_mode; }
void change_inference_mode(bool enabled) { inference_mode = enabled; }
bool is_anomaly_enabled() { return autograd::anomaly_enabled(); }
bool is_anomaly_check_nan_enabled() { return autograd::anomaly_checks_nan(); }
void change_anomaly_enabled(bool enabled, bool check_nan) {
  autograd::set_anomaly_enabled(enabled, check_nan);
}

constexpr Parameter enabled[] = {{"enabled", Kind::boolean}};
constexpr Parameter enabled_and_check[] = {{"enabled", Kind::boolean},
                                           {"check_nan", Kind::boolean, {"True", true}}};

PyMethodDef modes[] = {
    define<"is_grad_enabled", is_grad_enabled>(
        "is_grad_enabled()\n--\n\nWhether operations of this thread are recorded."),
    define<"_set_grad_enabled", change_grad_enabled, enabled>(
        "_set_grad_enabled(enabled)\n--\n\n"
        "Whether operations of this thread are recorded from now on."),
    define<"is_inference_mode_enabled", is_inference_mode_enabled>(
        "is_inference_mode_enabled()\n--\n\n"
        "Whether tensors that this thread makes are inference tensors."),
    define<"_set_inference_mode", change_inference_mode, enabled>(
        "_set_inference_mode(enabled)\n--\n\n"
        "Whether tensors that this thread makes are inference tensors from now on."),
    define<"is_anomaly_enabled", is_anomaly_enabled>(
        "is_anomaly_enabled()\n--\n\nWhether anomaly detection is on."
        "\n\nExample:\n"
        "    >>> with flambeau.autograd.detect_anomaly(check_nan=False):\n"
        "    ...     flambeau.is_anomaly_enabled()\n"
        "    True"),
    define<"is_anomaly_check_nan_enabled", is_anomaly_check_nan_enabled>(
        "is_anomaly_check_nan_enabled()\n--\n\nWhether anomaly detection looks for NaN."
        "\n\nExample:\n"
        "    >>> with flambeau.autograd.detect_anomaly(check_nan=False):\n"
        "    ...     flambeau.is_anomaly_check_nan_enabled()\n"
        "    False"),
    define<"set_anomaly_enabled", change_anomaly_enabled, enabled_and_check>(
        "set_anomaly_enabled(enabled, check_nan=True)\n--\n\n"
        "Turns anomaly detection on or off."
        "\n\nExample:\n"
        "    >>> flambeau.set_anomaly_enabled(True)\n"
        "    >>> x = flambeau.zeros(1, requires_grad=True)\n"
        "    >>> (0 * x.sqrt()).backward()\n"
        "    Traceback (most recent call last):\n"
        "        ...\n"
        "    RuntimeError: ...\n"
        "    >>> flambeau.set_anomaly_enabled(False)"),
    kNoMore};

// Forward mode ----------------------------------------------------------------------------------

int64_t enter_dual_level() { return autograd::enter_forward_level(); }
void exit_dual_level(int64_t level) {
  check(level >= 0 && level <= UINT32_MAX, ErrorKind::runtime,
        "exit_dual_level(): there is no level ", level);
  autograd::exit_forward_level(static_cast<uint32_t>(level));
}
PyRef make_dual(PyObject* tensor, PyObject* tangent) {
  const Tensor dual = autograd::alias(single_tensor(tensor, "make_dual(): tensor"));
  autograd::set_tangent(dual, single_tensor(tangent, "make_dual(): tangent"));
  return checked(wrap(dual));
}
PyRef tangent(PyObject* tensor) {
  return checked(wrap(autograd::tangent(single_tensor(tensor, "tangent(): tensor"))));
}
/// The primal is a view without the tangent, with its history.
PyRef unpack_dual(PyObject* tensor) {
  const Tensor dual = single_tensor(tensor, "unpack_dual(): tensor");
  const PyRef primal = [&] {
    const autograd::ForwardPause no_tangent;
    return checked(wrap(autograd::alias(dual)));
  }();
  return checked(PyTuple_Pack(2, primal.get(), tangent(tensor).get()));
}

constexpr Parameter level[] = {{"level", Kind::integer}};
constexpr Parameter tensor[] = {{"tensor", Kind::object}};
constexpr Parameter tensor_and_tangent[] = {{"tensor", Kind::object}, {"tangent", Kind::object}};

// Hooks -----------------------------------------------------------------------------------------

/// saved_tensors_hooks: pack(tensor) -> anything, unpack(that) -> tensor.
void push_hooks(PyObject* pack, PyObject* unpack) {
  for (PyObject* hook : {pack, unpack}) check_callable(hook, "saved_tensors_hooks");
  auto hooks = std::make_shared<autograd::SavedTensorHooks>();
  hooks->pack = [held = hold(pack)](const Tensor& tensor) -> std::shared_ptr<void> {
    const AcquireGil gil;
    const PyRef argument = checked(wrap(tensor));
    return hold(call_python(PyObject_CallOneArg, held.get(), argument.get()).get());
  };
  hooks->unpack = [held = hold(unpack)](const std::shared_ptr<void>& value) {
    const AcquireGil gil;
    const PyRef result =
        call_python(PyObject_CallOneArg, held.get(), static_cast<PyObject*>(value.get()));
    check(is_tensor(result.get()), ErrorKind::type,
          "saved_tensors_hooks: unpack_hook must return a Tensor, not ",
          describe_type(result.get()));
    return unwrap(result.get());
  };
  hooks->objects[0] = pack;
  hooks->objects[1] = unpack;
  autograd::push_saved_tensor_hooks(std::move(hooks));
}
std::string disable_hooks(std::string_view message) {
  return autograd::disable_saved_tensor_hooks(std::string(message));
}
bool enforce_layouts(bool enforced) {
  const bool previous = autograd::layouts_enforced();
  autograd::set_layouts_enforced(enforced);
  return previous;
}
void queue_callback(PyObject* callback) {
  check_callable(callback, "queue_callback");
  autograd::queue_callback([held = hold(callback)] {
    const AcquireGil gil;
    call_python(PyObject_CallNoArgs, held.get());
  });
}
PyRef gradient_edge(PyObject* tensor) {
  const autograd::Edge edge = autograd::gradient_edge(single_tensor(tensor, "tensor"));
  check(static_cast<bool>(edge), ErrorKind::runtime,
        "get_gradient_edge(): the tensor does not require grad");
  return edge_tuple(edge);
}

/// (leaves, elements)
PyRef extent_of_graphs(PyObject* tensors) {
  autograd::Extent extent =
      autograd::extent_of_graphs(to_tensors(tensors, "extent_of_graphs(): a root"));
  return checked(Py_BuildValue("(NL)", to_python(std::move(extent.leaves)),
                               static_cast<long long>(extent.elements)));
}

constexpr Parameter pack_and_unpack[] = {{"pack", Kind::object}, {"unpack", Kind::object}};
constexpr Parameter message[] = {{"message", Kind::string}};
constexpr Parameter enforced[] = {{"enforced", Kind::boolean}};
constexpr Parameter roots[] = {{"tensors", Kind::object}};
constexpr Parameter callback[] = {{"callback", Kind::object}};

PyMethodDef internal_functions[] = {
    define<"run_backward", run_backward, backward_run>(nullptr),
    define<"enter_dual_level", enter_dual_level>(nullptr),
    define<"exit_dual_level", exit_dual_level, level>(nullptr),
    define<"make_dual", make_dual, tensor_and_tangent>(nullptr),
    define<"unpack_dual", unpack_dual, tensor>(nullptr),
    define<"tangent", tangent, tensor>(nullptr),
    define<"push_saved_tensor_hooks", push_hooks, pack_and_unpack>(nullptr),
    define<"pop_saved_tensor_hooks", autograd::pop_saved_tensor_hooks>(nullptr),
    define<"disable_saved_tensor_hooks", disable_hooks, message>(nullptr),
    define<"enforce_layouts", enforce_layouts, enforced>(nullptr),
    define<"queue_callback", queue_callback, callback>(nullptr),
    define<"gradient_edge", gradient_edge, tensor>(nullptr),
    define<"extent_of_graphs", extent_of_graphs, roots>(nullptr),
    kNoMore};

/// The Python stack, innermost call last.
std::string python_stack() {
  const AcquireGil gil;
  const PyRef module = checked(PyImport_ImportModule("traceback"));
  const PyRef lines = checked(PyObject_CallMethodNoArgs(module.get(), interned<"format_stack">()));
  const PyRef nothing = checked(PyUnicode_FromString(""));
  const PyRef text = checked(PyUnicode_Join(nothing.get(), lines.get()));
  return std::string(to_string(text.get()));
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
  // Classes and functions that have no place among the public names of flambeau.
  const PyRef internal = submodule(module, "_autograd");
  for (const auto add : {add_node_type, add_handle_type, add_context_type}) add(internal.get());
  add_mirror();
  bind_functions(internal.get());
  add_functions(internal.get(), internal_functions);
  add_functions(module, modes);
  add_tensor_methods();
  autograd::describe_forward_location = &python_stack;
  autograd::show_warning = &warn;
}

}  // namespace flambeau::python
