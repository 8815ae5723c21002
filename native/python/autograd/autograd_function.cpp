#include <algorithm>

#include "autograd/graph/accumulate.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/history.h"
#include "python/autograd/autograd_internal.h"
#include "python/autograd/function_context.h"
#include "python/base/names.h"

/// autograd.Function: operators whose forward and backward are written in Python.
namespace flambeau::python {

using autograd::Gradients;
using autograd::Node;
using autograd::SavedTensor;

namespace {

py::object steal(PyObject* object) { return py::reinterpret_steal<py::object>(object); }
py::object borrow(PyObject* object) { return py::reinterpret_borrow<py::object>(object); }

/// Names of saved tensors in errors; SavedTensor does not own its name.
const char* saved_name(size_t i) {
  static constexpr const char* names[] = {
      "saved_tensors[0]", "saved_tensors[1]", "saved_tensors[2]", "saved_tensors[3]",
      "saved_tensors[4]", "saved_tensors[5]", "saved_tensors[6]", "saved_tensors[7]"};
  return i < std::size(names) ? names[i] : "saved_tensors[8 or more]";
}

/// The node of one call of a Function.
class FunctionNode final : public ContextNode {
 public:
  FunctionNode(std::string name, const py::object& context, const py::object& type)
      : context_(hold(context.ptr())), type_(hold(type.ptr())), name_(std::move(name)) {
    this->context().node = this;
  }
  ~FunctionNode() override {
    if (!interpreter_alive()) return;
    const AcquireGil gil;
    if (context().node == this) context().node = nullptr;
  }
  const char* name() const override { return name_.c_str(); }
  Gradients apply(Gradients&& gradients) override;
  void release_saved() override {
    for (SavedTensor& tensor : saved) tensor.reset();
  }
  void visit_held(autograd::HeldVisitor& visit) const override {
    visit.all(saved);
    for (const HeldObject* held : {&context_, &type_}) {
      if (held->use_count() == 1) visit.object(held->get());
    }
  }
  PyObject* context_object() const { return context_.get(); }

 private:
  FunctionContext& context() const { return to_context(context_.get()); }
  py::tuple arguments(const Gradients& gradients) const;
  Gradients results(const py::object& returned) const;

  HeldObject context_, type_;
  std::string name_;
};

/// (ctx, *gradients), missing gradients as zeros if the context says so.
py::tuple FunctionNode::arguments(const Gradients& gradients) const {
  py::tuple result(output_count + 1);
  result[0] = borrow(context_.get());
  const bool materializes = context().materializes;
  for (size_t i = 0; i < output_count; ++i) {
    Tensor gradient = i < gradients.size() ? gradients[i] : Tensor();
    if (!gradient.defined() && materializes && i < outputs.size() && outputs[i].is_set) {
      gradient = empty(outputs[i].sizes, outputs[i].dtype, outputs[i].device);
      fill_data(gradient, 0);
    }
    result[i + 1] = steal(wrap(std::move(gradient)));
  }
  return result;
}

Gradients FunctionNode::results(const py::object& returned) const {
  const bool is_list = PyTuple_Check(returned.ptr()) || PyList_Check(returned.ptr());
  const py::tuple items = is_list ? py::tuple(returned) : py::make_tuple(returned);
  const std::vector<bool>& needs = context().needs;
  size_t count = items.size();
  while (count > needs.size() && items[count - 1].is_none()) --count;
  check(count == needs.size(), ErrorKind::runtime, name_, ": backward returned ", items.size(),
        " gradients, expected ", needs.size(), ", one for each argument of forward");
  Gradients result(needs.size());
  for (size_t i = 0; i < needs.size(); ++i) {
    PyObject* item = items[i].ptr();
    if (item == Py_None) continue;
    check(is_tensor(item), ErrorKind::type, name_, ": gradient ", i,
          " that backward returned must be a Tensor or None, not ", describe_type(item));
    if (edges[i]) result[i] = unwrap(item);
  }
  return result;
}

Gradients FunctionNode::apply(Gradients&& gradients) {
  const AcquireGil gil;
  const PyRef backward = checked(PyObject_GetAttr(type_.get(), interned<"_backward">()));
  const py::tuple given = arguments(gradients);
  // The gradients live in the tuple now; a sum further down may reuse them once that is gone.
  gradients.clear();
  return results(steal(call_python(PyObject_CallObject, backward.get(), given.ptr()).release()));
}

/// Raises when a gradient reaches it.
class RefusingNode final : public Node {
 public:
  explicit RefusingNode(std::string message) : message_(std::move(message)) {}
  const char* name() const override { return "RefusedBackward"; }
  Gradients apply(Gradients&&) override { throw Error(ErrorKind::runtime, message_); }

 private:
  std::string message_;
};

/// One call of Function.apply.
class Call {
 public:
  Call(py::object type, py::tuple args)
      : type_(std::move(type)),
        args_(std::move(args)),
        context_object_(type_.attr("_context")()),
        context_(to_context(context_object_.ptr())) {}
  py::object run();

 private:
  void record_inputs();
  py::object forward();
  /// Output i of forward, with its history.
  Tensor finish(const Tensor& output, uint32_t i);
  void save(const std::vector<Tensor>& returned);
  void set_tangents(const std::vector<Tensor>& outputs);
  size_t input_index(const Tensor& tensor) const {
    return static_cast<size_t>(
        std::find_if(inputs_.begin(), inputs_.end(),
                     [&](const Tensor& input) { return input.is_same(tensor); }) -
        inputs_.begin());
  }
  static bool is_among(const Tensor& tensor, const std::vector<Tensor>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const Tensor& other) { return other.is_same(tensor); });
  }

  py::object type_;
  py::tuple args_;
  py::object context_object_;
  FunctionContext& context_;
  std::vector<Tensor> inputs_;  // undefined for arguments that are no tensors
  std::vector<Tensor> dirty_, non_differentiable_;
  Ref<FunctionNode> node_;
  std::string name_;
};

void Call::record_inputs() {
  bool records = false;
  for (const py::handle arg : args_) {
    inputs_.push_back(is_tensor(arg.ptr()) ? unwrap(arg.ptr()) : Tensor());
    if (inputs_.back().defined()) track(arg.ptr());  // the context may keep it
    const bool needs =
        grad_enabled() && inputs_.back().defined() && autograd::requires_grad(inputs_.back());
    context_.needs.push_back(needs);
    records = records || needs;
  }
  name_ = type_.attr("__name__").cast<std::string>() + "Backward";
  if (!records) return;
  node_ = make_ref<FunctionNode>(name_, context_object_, type_);
  for (const Tensor& input : inputs_) node_->add_input(input);
}

py::object Call::forward() {
  const GradMode no_grad(false);
  if (!type_.attr("_has_setup_context")().cast<bool>()) {
    return type_.attr("forward")(context_object_, *args_);
  }
  py::object output = type_.attr("forward")(*args_);
  type_.attr("setup_context")(context_object_, args_, output);
  return output;
}

Tensor Call::finish(const Tensor& output, uint32_t i) {
  const size_t input = input_index(output);
  const bool is_input = input < inputs_.size();
  const bool is_dirty = is_among(output, dirty_);
  check(!is_dirty || is_input, ErrorKind::runtime, name_,
        ": mark_dirty() got a tensor that is not an argument of forward");
  const bool differentiable =
      is_differentiable(output.dtype()) && !is_among(output, non_differentiable_);
  if (!node_ || !differentiable) {
    // An argument that is handed through must not look like a result.
    return is_input && !is_dirty ? autograd::detach(output) : output;
  }
  if (is_dirty) {
    check(!autograd::is_view(output) || (input == 0 && node_->output_count == 1),
          ErrorKind::not_implemented, name_,
          ": a view can be written in place only as first argument and only result");
    autograd::check_inplace(output, name_.c_str(), true);
    autograd::rebase_history(output, node_, i);
    return output;
  }
  const Tensor result = is_input ? autograd::detach(output) : output;
  autograd::set_history(result, node_, i);
  return result;
}

void Call::save(const std::vector<Tensor>& returned) {
  if (!context_.to_save || !node_) return;
  const auto tensors = py::reinterpret_borrow<py::tuple>(context_.to_save);
  node_->saved.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = tensors[i].ptr();
    check(item == Py_None || is_tensor(item), ErrorKind::type, name_,
          ": save_for_backward() takes tensors or None, got ", describe_type(item));
    const Tensor tensor = item == Py_None ? Tensor() : unwrap(item);
    uint32_t output = 0;
    while (output < returned.size() &&
           !(tensor.defined() && returned[output].defined() && returned[output].is_same(tensor))) {
      ++output;
    }
    const bool is_result =
        output < returned.size() &&
        (is_among(tensor, dirty_) || autograd::grad_fn(tensor).get() == node_.get());
    node_->saved.emplace_back(tensor, saved_name(i), is_result, is_result ? output : 0);
  }
  // They would keep results, and through them the node, alive.
  Py_CLEAR(context_.to_save);
}

void Call::set_tangents(const std::vector<Tensor>& outputs) {
  bool any = false;
  py::tuple tangents(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor tangent = inputs_[i].defined() ? autograd::tangent(inputs_[i]) : Tensor();
    any = any || tangent.defined();
    tangents[i] = steal(wrap(tangent));
  }
  if (!any) return;
  const py::object returned = type_.attr("jvp")(context_object_, *tangents);
  const Gradients results = to_gradients(returned, "jvp of an autograd.Function");
  check(results.size() == outputs.size(), ErrorKind::runtime, name_, ": jvp returned ",
        results.size(), " tangents, expected ", outputs.size(), ", one for each result of forward");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].defined() && results[i].defined()) autograd::set_tangent(outputs[i], results[i]);
  }
}

std::vector<Tensor> tensors_of(PyObject* tuple, const char* what) {
  return tuple ? to_tensors(tuple, what) : std::vector<Tensor>();
}

py::object Call::run() {
  record_inputs();
  const py::object output = forward();
  dirty_ = tensors_of(context_.dirty, "mark_dirty(): an argument");
  non_differentiable_ =
      tensors_of(context_.non_differentiable, "mark_non_differentiable(): an argument");
  const bool is_tuple = PyTuple_Check(output.ptr()) || PyList_Check(output.ptr());
  const py::tuple items = is_tuple ? py::tuple(output) : py::make_tuple(output);
  if (node_) {
    node_->output_count = static_cast<uint32_t>(items.size());
    node_->outputs.resize(items.size());
  }
  std::vector<Tensor> returned(items.size()), outputs(items.size());
  py::tuple results(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* item = items[i].ptr();
    if (!is_tensor(item)) {
      results[i] = borrow(item);
      continue;
    }
    returned[i] = unwrap(item);
    outputs[i] = finish(returned[i], static_cast<uint32_t>(i));
    if (node_ && !node_->outputs[i].is_set) {
      // backward() gets zeros for it.
      node_->outputs[i] = {returned[i].sizes(), returned[i].dtype(), returned[i].device(), true};
    }
    results[i] = outputs[i].is_same(returned[i]) ? borrow(item) : steal(wrap(outputs[i]));
    if (node_) track(results[i].ptr());
  }
  set_tangents(outputs);
  save(outputs);
  context_.is_set_up = true;
  Py_CLEAR(context_.dirty);
  Py_CLEAR(context_.non_differentiable);
  return is_tuple ? py::object(results) : py::object(results[0]);
}

}  // namespace

PyObject* function_context(const Node& node) {
  const auto* function = dynamic_cast<const FunctionNode*>(&node);
  return function ? function->context_object() : nullptr;
}

void bind_functions(py::module_& module) {
  module.def(
      "apply_function",
      [](const py::object& type, const py::tuple& args) { return Call(type, args).run(); },
      py::arg("type"), py::arg("args"));
  module.def(
      "refuse_gradient",
      [](const py::object& tensor, std::string message) {
        const Tensor result = autograd::detach(to_tensors(tensor, "tensor").at(0));
        autograd::set_history(result, make_ref<RefusingNode>(std::move(message)));
        return steal(wrap(result));
      },
      py::arg("tensor"), py::arg("message"));
}

}  // namespace flambeau::python
