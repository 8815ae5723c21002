#include "autograd/graph/state.h"

#include "autograd/graph/history.h"
#include "autograd/graph/hooks.h"
#include "autograd/graph/stand_in.h"
#include "core/tensor/sparse.h"

namespace flambeau::autograd {

void forget_tangent(State& state) noexcept;  // forward.cpp

State::~State() {
  if (accumulator) accumulator->forget_leaf();
  if (tangent.defined()) forget_tangent(*this);
}

void State::follow_geometry(const Tensor& tensor) {
  if (!accumulator || grad_fn) return;
  // .grad itself is the caller's to move.
  if (accumulator->use_count() == 1 || equal(accumulator->outputs[0].sizes, tensor.sizes())) {
    accumulator->describe(tensor);
  } else {
    accumulator = accumulator->renew(tensor);
  }
}

AccumulateGrad& gradient_slot(State& state, const Tensor& tensor) {
  if (FLAMBEAU_UNLIKELY(!state.accumulator)) state.accumulator = make_ref<AccumulateGrad>(tensor);
  return *state.accumulator;
}

void take_geometry(TensorImpl& to, const TensorImpl& from) {
  to.offset = from.offset;
  to.numel = from.numel;
  to.sizes = from.sizes;
  to.strides = from.strides;
  to.contiguous = from.contiguous;
}

Tensor shallow_copy(const Tensor& tensor) {
  const TensorImpl& from = *tensor.impl();
  Ref<TensorImpl> impl = TensorImpl::make();
  impl->storage = from.storage;
  impl->dtype = from.dtype;
  take_geometry(*impl, from);
  impl->wrapped_number = from.wrapped_number;
  impl->inference = from.inference;
  Tensor copy(std::move(impl));
  if (FLAMBEAU_UNLIKELY(from.python_object != nullptr) && may_stand_in(tensor) && copy_stand_in) {
    copy_stand_in(tensor, copy);
  }
  return copy;
}

void (*copy_stand_in)(const Tensor& from, const Tensor& to) = nullptr;

bool has_autograd(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    if (has_autograd(tensor)) return true;
  }
  return false;
}

bool requires_grad(const Tensor& tensor) {
  if (!has_autograd(tensor)) return false;
  State& own = state(tensor);
  return own.requires_grad || history(own, tensor);
}

bool requires_grad(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    if (requires_grad(tensor)) return true;
  }
  return false;
}

Ref<Node> grad_fn(const Tensor& tensor) {
  return has_autograd(tensor) ? history(state(tensor), tensor) : Ref<Node>();
}

uint32_t output_index(const Tensor& tensor) {
  if (!has_autograd(tensor)) return 0;
  history(state(tensor), tensor);
  return state(tensor).output_index;
}

bool is_leaf(const Tensor& tensor) {
  return !has_autograd(tensor) || !history(state(tensor), tensor);
}

Edge gradient_edge(const Tensor& tensor) {
  if (!has_autograd(tensor)) return {};
  State& own = state(tensor);
  if (const Ref<Node>& node = history(own, tensor)) return {node, own.output_index};
  if (!own.requires_grad) return {};
  gradient_slot(own, tensor);
  return {own.accumulator, 0};
}

void set_requires_grad(const Tensor& tensor, bool value) {
  if (!value && !has_autograd(tensor)) return;
  check(!value || is_differentiable(tensor.dtype()), ErrorKind::runtime,
        "requires_grad: only floating and complex tensors can require gradients, got dtype ",
        name(tensor.dtype()));
  check(!value || !tensor.impl()->inference, ErrorKind::runtime,
        "requires_grad: a tensor made in inference mode cannot require grad; clone it outside of "
        "inference mode first");
  if (!is_leaf(tensor)) {
    check(value, ErrorKind::runtime, "requires_grad: the tensor is the result of ",
          grad_fn(tensor)->name(),
          "; only a leaf's flag can be turned off, use detach() for a tensor without history");
    return;
  }
  State& own = state(tensor);
  // Made here, so that threads that share the leaf later only read.
  if (value) gradient_slot(own, tensor);
  own.requires_grad = value;
}

Tensor grad(const Tensor& tensor) {
  if (!has_autograd(tensor)) return Tensor();
  const State& own = state(tensor);
  return own.accumulator ? own.accumulator->grad() : Tensor();
}

void set_grad(const Tensor& tensor, const Tensor& grad) {
  if (!grad.defined()) {
    if (has_autograd(tensor) && state(tensor).accumulator) {
      state(tensor).accumulator->set_grad(Tensor());
    }
    return;
  }
  check(!grad.is_same(tensor), ErrorKind::runtime, "grad: a tensor cannot be its own gradient");
  check(equal(grad.sizes(), tensor.sizes()), ErrorKind::runtime, "grad: expected shape ",
        tensor.sizes(), ", got ", grad.sizes());
  const std::optional<DType> dtype = slot_dtype(tensor);
  check(!dtype || grad.dtype() == *dtype, ErrorKind::runtime, "grad: expected dtype ",
        dtype ? name(*dtype) : "", ", got ", name(grad.dtype()));
  check(is_sparse(grad) || !is_sparse(tensor), ErrorKind::runtime,
        "grad: expected layout sparse_coo, that of the tensor, got a strided tensor");
  check(data_device(grad) == data_device(tensor), ErrorKind::runtime, "grad: expected a tensor on ",
        data_device(tensor), ", got one on ", data_device(grad));
  gradient_slot(state(tensor), tensor).set_grad(grad);
}

std::optional<DType> slot_dtype(const Tensor& tensor) {
  const bool has_slot = has_autograd(tensor) && state(tensor).accumulator;
  return has_slot ? state(tensor).accumulator->grad_dtype() : std::optional(tensor.dtype());
}

std::optional<DType> grad_dtype(const Tensor& tensor) {
  check(is_leaf(tensor), ErrorKind::runtime, "grad_dtype: the tensor is the result of ",
        is_leaf(tensor) ? "" : grad_fn(tensor)->name(), "; only leaves have one");
  return slot_dtype(tensor);
}

void set_grad_dtype(const Tensor& tensor, std::optional<DType> dtype) {
  grad_dtype(tensor);  // of leaves alone
  check(!dtype || *dtype == tensor.dtype() ||
            (is_differentiable(*dtype) && is_complex(*dtype) == is_complex(tensor.dtype())),
        ErrorKind::runtime, "grad_dtype: a gradient of a tensor of dtype ", name(tensor.dtype()),
        " cannot have dtype ", dtype ? name(*dtype) : "");
  const Tensor present = grad(tensor);
  check(!dtype || !present.defined() || present.dtype() == *dtype, ErrorKind::runtime,
        "grad_dtype: .grad has dtype ", present.defined() ? name(present.dtype()) : "",
        ", which is not ", dtype ? name(*dtype) : "", "; set .grad to None first");
  gradient_slot(state(tensor), tensor).choose_grad_dtype(dtype);
}

Tensor& mutable_grad(const Tensor& tensor) {
  return gradient_slot(state(tensor), tensor).unlocked_grad();
}

void retain_at_history(State& state) {
  state.grad_fn->extras().retained.push_back({state.output_index, state.accumulator});
}

void retain_grad(const Tensor& tensor) {
  check(requires_grad(tensor), ErrorKind::runtime,
        "retain_grad: the tensor does not require grad, so it will never have one");
  State& own = state(tensor);
  if (!own.grad_fn || own.retains_grad) return;
  gradient_slot(own, tensor);
  own.retains_grad = true;
  retain_at_history(own);
}

bool retains_grad(const Tensor& tensor) {
  return has_autograd(tensor) && state(tensor).retains_grad;
}

Tensor detach(const Tensor& tensor) { return shallow_copy(tensor); }

void detach_(const Tensor& tensor) {
  if (!has_autograd(tensor)) return;
  State& own = state(tensor);
  check(!own.base.defined(), ErrorKind::runtime,
        "detach_: the tensor is a view; detaching it in place would leave its base's history "
        "as it is. Use detach()");
  own.grad_fn = nullptr;
  own.output_index = 0;
  own.requires_grad = own.retains_grad = false;
}

void set_data(const Tensor& tensor, const Tensor& other) {
  TensorImpl& to = *tensor.impl();
  const TensorImpl& from = *other.impl();
  check(!requires_grad(tensor) || is_differentiable(from.dtype), ErrorKind::runtime,
        "data: the tensor requires grad, so its data must be floating or complex, got dtype ",
        name(from.dtype));
  check(is_sparse(tensor) == is_sparse(other), ErrorKind::runtime,
        "data: a tensor keeps its layout; expected ", is_sparse(tensor) ? "sparse_coo" : "strided",
        ", got ", is_sparse(other) ? "sparse_coo" : "strided");
  Ref<Storage> storage = Storage::alias(from.storage);
  // The version goes on, so that what saved the tensor notices.
  storage->set_version(to.storage->version() + 1);
  to.storage = std::move(storage);
  to.dtype = from.dtype;
  take_geometry(to, from);
  if (to.autograd) to.autograd->follow_geometry(tensor);
}

}  // namespace flambeau::autograd
