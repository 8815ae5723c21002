#include <algorithm>
#include <span>

#include "autograd/graph/accumulate.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/history.h"
#include "python/autograd/autograd_internal.h"
#include "python/autograd/function_context.h"
#include "python/base/modules.h"
#include "python/base/names.h"
#include "python/calls/define.h"

/// autograd.Function: operators whose forward and backward are written in Python.
namespace flambeau::python {

using autograd::Gradients;
using autograd::Node;
using autograd::SavedTensor;

namespace {

/// A list or a tuple as a tuple, anything else as a tuple of one.
PyRef items_of(PyObject* value) {
  if (PyTuple_Check(value) || PyList_Check(value)) return checked(PySequence_Tuple(value));
  return checked(PyTuple_Pack(1, value));
}

std::span<PyObject* const> items_in(const PyRef& tuple) {
  return {&PyTuple_GET_ITEM(tuple.get(), 0), static_cast<size_t>(PyTuple_GET_SIZE(tuple.get()))};
}

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
  FunctionNode(std::string name, PyObject* context, PyObject* type)
      : context_(hold(context)), type_(hold(type)), name_(std::move(name)) {
    this->context().node = this;
  }
  ~FunctionNode() override {
    if (!interpreter_alive()) return;
    const AcquireGil gil;
    if (context().node == this) context().node = nullptr;
  }
  const char* own_name() const override { return name_.c_str(); }
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
  PyRef arguments(const Gradients& gradients) const;
  Gradients results(PyObject* returned) const;

  HeldObject context_, type_;
  std::string name_;
};

/// (ctx, *gradients), missing gradients as zeros if the context says so.
PyRef FunctionNode::arguments(const Gradients& gradients) const {
  PyRef result = checked(PyTuple_New(output_count + 1));
  PyTuple_SET_ITEM(result.get(), 0, Py_NewRef(context_.get()));
  const bool materializes = context().materializes;
  for (size_t i = 0; i < output_count; ++i) {
    Tensor gradient = i < gradients.size() ? gradients[i] : Tensor();
    if (!gradient.defined() && materializes && i < outputs.size() && outputs[i].is_set) {
      gradient = empty(outputs[i].sizes, outputs[i].dtype, outputs[i].device);
      fill_data(gradient, 0);
    }
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i) + 1, wrap(std::move(gradient)));
  }
  return result;
}

Gradients FunctionNode::results(PyObject* returned) const {
  const PyRef tuple = items_of(returned);
  const std::span<PyObject* const> items = items_in(tuple);
  const std::vector<bool>& needs = context().needs;
  size_t count = items.size();
  while (count > needs.size() && items[count - 1] == Py_None) --count;
  check(count == needs.size(), ErrorKind::runtime, name_, ": backward returned ", items.size(),
        " gradients, expected ", needs.size(), ", one for each argument of forward");
  Gradients result(needs.size());
  for (size_t i = 0; i < needs.size(); ++i) {
    PyObject* item = items[i];
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
  const PyRef given = arguments(gradients);
  // The gradients live in the tuple now; a sum further down may reuse them once that is gone.
  gradients.clear();
  return results(call_python(PyObject_CallObject, backward.get(), given.get()).get());
}

/// Raises when a gradient reaches it.
class RefusingNode final : public Node {
 public:
  explicit RefusingNode(std::string message) : message_(std::move(message)) {}
  const char* own_name() const override { return "RefusedBackward"; }
  Gradients apply(Gradients&&) override { throw Error(ErrorKind::runtime, message_); }

 private:
  std::string message_;
};

/// One call of Function.apply.
class Call {
 public:
  Call(PyObject* type, PyObject* args)
      : type_(type),
        args_(checked(PySequence_Tuple(args))),
        context_object_(checked(PyObject_CallMethodNoArgs(type_, interned<"_context">()))),
        context_(to_context(context_object_.get())) {}
  PyRef run();

 private:
  void record_inputs();
  PyRef forward();
  /// type.NAME(*args), or (ctx, *args).
  PyRef call(PyObject* name, PyObject* args, bool with_context) const;
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

  PyObject* const type_;
  const PyRef args_;
  const PyRef context_object_;
  FunctionContext& context_;
  std::vector<Tensor> inputs_;  // undefined for arguments that are no tensors
  std::vector<Tensor> dirty_, non_differentiable_;
  Ref<FunctionNode> node_;
  std::string name_;
};

void Call::record_inputs() {
  bool records = false;
  for (PyObject* arg : items_in(args_)) {
    inputs_.push_back(is_tensor(arg) ? unwrap(arg) : Tensor());
    if (inputs_.back().defined()) track(arg);  // the context may keep it
    const bool needs =
        grad_enabled() && inputs_.back().defined() && autograd::requires_grad(inputs_.back());
    context_.needs.push_back(needs);
    records = records || needs;
  }
  const PyRef own_name = checked(PyObject_GetAttr(type_, interned<"__name__">()));
  name_ = std::string(to_string(own_name.get())) + "Backward";
  if (!records) return;
  node_ = make_ref<FunctionNode>(name_, context_object_.get(), type_);
  for (const Tensor& input : inputs_) node_->add_input(input);
}

PyRef Call::call(PyObject* name, PyObject* args, bool with_context) const {
  const PyRef function = checked(PyObject_GetAttr(type_, name));
  if (!with_context) return checked(PyObject_CallObject(function.get(), args));
  const PyRef context = checked(PyTuple_Pack(1, context_object_.get()));
  const PyRef all = checked(PySequence_Concat(context.get(), args));
  return checked(PyObject_CallObject(function.get(), all.get()));
}

PyRef Call::forward() {
  const GradMode no_grad(false);
  const PyRef has_setup =
      checked(PyObject_CallMethodNoArgs(type_, interned<"_has_setup_context">()));
  const bool apart = checked(PyObject_IsTrue(has_setup.get())) != 0;
  PyRef output = call(interned<"forward">(), args_.get(), !apart);
  if (apart) {
    const PyRef given = checked(PyTuple_Pack(2, args_.get(), output.get()));
    call(interned<"setup_context">(), given.get(), true);
  }
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
  const PyRef tuple = PyRef::borrow(context_.to_save);
  const std::span<PyObject* const> tensors = items_in(tuple);
  node_->saved.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = tensors[i];
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
  const auto has_tangent = [](const Tensor& input) {
    return input.defined() && autograd::tangent(input).defined();
  };
  if (std::none_of(inputs_.begin(), inputs_.end(), has_tangent)) return;
  const PyRef tangents = checked(PyTuple_New(static_cast<Py_ssize_t>(inputs_.size())));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& input = inputs_[i];
    Tensor tangent = input.defined() ? autograd::tangent(input) : Tensor();
    if (input.defined() && !tangent.defined() && context_.materializes) {
      tangent = empty(input.sizes(), input.dtype(), input.device());
      fill_data(tangent, 0);
    }
    PyTuple_SET_ITEM(tangents.get(), static_cast<Py_ssize_t>(i), wrap(std::move(tangent)));
  }
  PyRef returned;
  {
    // What it computes of the inputs, whose tangents it is given, has none itself.
    const autograd::ForwardPause pause;
    returned = call(interned<"_jvp">(), tangents.get(), true);
  }
  const Gradients results = to_gradients(returned.get(), "jvp of an autograd.Function");
  check(results.size() == outputs.size(), ErrorKind::runtime, name_, ": jvp returned ",
        results.size(), " tangents, expected ", outputs.size(), ", one for each result of forward");
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].defined() && results[i].defined()) autograd::set_tangent(outputs[i], results[i]);
  }
}

std::vector<Tensor> tensors_of(PyObject* tuple, const char* what) {
  return tuple ? to_tensors(tuple, what) : std::vector<Tensor>();
}

PyRef Call::run() {
  record_inputs();
  const PyRef output = forward();
  dirty_ = tensors_of(context_.dirty, "mark_dirty(): an argument");
  non_differentiable_ =
      tensors_of(context_.non_differentiable, "mark_non_differentiable(): an argument");
  const bool is_tuple = PyTuple_Check(output.get()) || PyList_Check(output.get());
  const PyRef tuple = items_of(output.get());
  const std::span<PyObject* const> items = items_in(tuple);
  if (node_) {
    node_->output_count = static_cast<uint32_t>(items.size());
    node_->outputs.resize(items.size());
  }
  std::vector<Tensor> returned(items.size()), outputs(items.size());
  PyRef results = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  const auto put = [&](size_t i, PyObject* stolen) {
    PyTuple_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), stolen);
  };
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* item = items[i];
    if (!is_tensor(item)) {
      put(i, Py_NewRef(item));
      continue;
    }
    returned[i] = unwrap(item);
    outputs[i] = finish(returned[i], static_cast<uint32_t>(i));
    if (node_ && !node_->outputs[i].is_set) {
      // backward() gets zeros for it.
      node_->outputs[i] = {returned[i].sizes(), returned[i].dtype(), returned[i].device(), true};
    }
    put(i, outputs[i].is_same(returned[i]) ? Py_NewRef(item) : wrap(outputs[i]));
    if (node_) track(PyTuple_GET_ITEM(results.get(), i));
  }
  set_tangents(outputs);
  save(outputs);
  context_.is_set_up = true;
  Py_CLEAR(context_.dirty);
  Py_CLEAR(context_.non_differentiable);
  return is_tuple ? results : PyRef::borrow(PyTuple_GET_ITEM(results.get(), 0));
}

PyRef apply_function(PyObject* type, PyObject* args) { return Call(type, args).run(); }

Tensor refuse_gradient(const Tensor& tensor, std::string_view message) {
  const Tensor result = autograd::detach(tensor);
  autograd::set_history(result, make_ref<RefusingNode>(std::string(message)));
  return result;
}

constexpr Parameter type_and_args[] = {{"type", Kind::object}, {"args", Kind::object}};
constexpr Parameter tensor_and_message[] = {{"tensor", Kind::tensor}, {"message", Kind::string}};

PyMethodDef functions[] = {define<"apply_function", apply_function, type_and_args>(nullptr),
                           define<"refuse_gradient", refuse_gradient, tensor_and_message>(nullptr),
                           kNoMore};

}  // namespace

PyObject* function_context(const Node& node) {
  const auto* function = dynamic_cast<const FunctionNode*>(&node);
  return function ? function->context_object() : nullptr;
}

void bind_functions(PyObject* module) { add_functions(module, functions); }

}  // namespace flambeau::python
