#include "core/iteration/iterator.h"
#include "core/tensor/overlap.h"

#include <algorithm>

namespace flambeau {

void Iterator::missing_tensor() const {
  fail(ErrorKind::type, op_, ": argument ", count_ < outputs_ ? count_ : count_ - outputs_,
       " must be a tensor, got None");
}
void Iterator::too_many_operands() const {
  fail(ErrorKind::runtime, op_, ": more than ", kMaxOperands, " operands");
}

void Iterator::finish() {
  for (int i = 0; i < outputs_; ++i) {
    OperandState& state = operand(i);
    if (state.destination.defined()) copy_data(state.destination, state.owned);
  }
}

Tensor Iterator::tensor(int i) const {
  const OperandState& state = operand(i);
  if (!state.is_number()) return state.tensor();
  const Tensor number = empty({}, state.dtype, Device{});
  fill_data(number, state.number);
  return number;
}

void Iterator::set_number(OperandState& state, DType dtype) {
  char* storage = state.number_storage;
  switch (dtype) {
#define FLAMBEAU_STORE(name, type, ...)                   \
  case DType::name:                                       \
    new (storage) type(state.number.template to<type>()); \
    break;
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_STORE)
#undef FLAMBEAU_STORE
  }
  state.role = Role::number;
  state.dtype = dtype;
  state.data = storage;
}

void Iterator::build(PromotionRule rule) {
  if (!build_fast(rule)) build_general(rule);
}

namespace {
/// Whether a number leaves the dtype of tensors as it is.
bool is_absorbed(const Scalar& number, DType dtype) {
  switch (number.kind()) {
    case Scalar::Kind::boolean:
      return true;
    case Scalar::Kind::integer:
    case Scalar::Kind::natural:
      return dtype != DType::bool_;
    case Scalar::Kind::floating:
      return is_differentiable(dtype);
    case Scalar::Kind::complex:
      return is_complex(dtype);
  }
  return false;
}

/// Whether all elements are one in memory: an expanded number, like the gradient of a sum.
bool is_repeated(const TensorImpl& tensor) {
  return std::all_of(tensor.strides.begin(), tensor.strides.end(),
                     [](int64_t stride) { return stride == 0; });
}

/// For dense tensors. The very same elements do not count as an overlap.
bool overlaps_partly(const Tensor& a, const Tensor& b) {
  const char *first = a.data<const char>(), *second = b.data<const char>();
  const int64_t first_bytes = a.numel() * static_cast<int64_t>(a.itemsize());
  const int64_t second_bytes = b.numel() * static_cast<int64_t>(b.itemsize());
  if (first == second && first_bytes == second_bytes && a.itemsize() == b.itemsize()) return false;
  return first < second + second_bytes && second < first + first_bytes;
}
}  // namespace

/// The common case, decided in a few compares: dense row-major or repeated tensors of one shape,
/// dtype and device, and numbers that do not change the dtype. Changes nothing when it returns
/// false.
bool Iterator::build_fast(PromotionRule rule) {
  if (outputs_ == count_ || rule.promoted == 0 || fixed_dtype_ || fixed_shape_) return false;
  const TensorImpl* first = nullptr;
  bool has_repeated = false;
  for (int i = outputs_; i < count_; ++i) {
    const OperandState& state = operand(i);
    if (state.is_number()) continue;
    const TensorImpl* impl = state.given->impl();
    if (impl->wrapped_number) return false;
    if (!impl->contiguous) {
      if (!is_repeated(*impl)) return false;
      has_repeated = true;
    } else if (!first) {
      first = impl;
    }
  }
  if (!first) return false;
  for (int i = outputs_; i < count_; ++i) {
    const OperandState& state = operand(i);
    if (state.is_number() || state.given->impl() == first) continue;
    const TensorImpl* impl = state.given->impl();
    if (impl->dtype != first->dtype || !equal(impl->sizes, first->sizes) ||
        impl->storage->device() != first->storage->device())
      return false;
  }
  const DType dtype = first->dtype;
  if (rule.integers_to_float && !is_differentiable(dtype)) return false;
  const Device device = first->storage->device();
  for (int i = outputs_; i < count_; ++i) {
    const OperandState& state = operand(i);
    if (state.is_number() &&
        !(rule.promoted >> (i - outputs_) & 1 && is_absorbed(state.number, dtype)))
      return false;
  }
  for (int i = 0; i < outputs_; ++i) {
    const OperandState& state = operand(i);
    const Tensor& given = *state.given;
    if (!given.defined()) continue;
    if (has_repeated ||
        given.dtype() != (state.role == Role::output && state.has_dtype ? state.dtype : dtype) ||
        !given.is_contiguous() || given.device() != device || !equal(given.sizes(), first->sizes))
      return false;
    for (int j = 0; j < count_; ++j) {
      if (j < outputs_ ? j <= i : operand(j).is_number()) continue;
      const Tensor& other = *operand(j).given;
      if (!other.defined()) continue;
      // Two outputs must not even be the same tensor.
      if (j < outputs_ ? may_overlap(given, other) : overlaps_partly(given, other)) return false;
    }
  }

  common_dtype_ = dtype;
  device_ = device;
  shape_ = &first->sizes;
  numel_ = first->numel;
  rank_ = 1;
  extents_[0] = numel_;
  for (int i = 0; i < count_; ++i) {
    OperandState& state = operand(i);
    if (state.is_number()) {
      set_number(state, dtype);
      state.strides[0] = 0;
      continue;
    }
    if (i < outputs_) {
      if (!state.has_dtype) state.dtype = dtype;
      if (!state.given->defined()) state.owned = empty(first->sizes, state.dtype, device);
    }
    const Tensor& tensor = state.tensor();
    state.data = tensor.data<char>();
    state.strides[0] = tensor.is_contiguous() ? static_cast<int64_t>(size_of(state.dtype)) : 0;
  }
  return true;
}

void Iterator::for_each(Loop loop, int64_t cost) const {
  if (numel_ == 0) return;
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(cost, 1), 1);
  if (numel_ <= grain) return for_range(loop, 0, numel_);
  parallel_for(0, numel_, grain, [&](int64_t begin, int64_t end) { for_range(loop, begin, end); });
}

void Iterator::for_range(Loop loop, int64_t begin, int64_t end) const {
  char* data[kMaxOperands];
  int64_t inner[kMaxOperands];
  for (int i = 0; i < count_; ++i) {
    data[i] = operand(i).data;
    inner[i] = operand(i).strides[0];
  }
  if (rank_ == 1) {
    if (begin > 0)
      for (int i = 0; i < count_; ++i) data[i] += begin * inner[i];
    if (begin < end) loop(data, inner, end - begin);
    return;
  }
  int64_t index[kMaxRank];
  for (int64_t d = 0, rest = begin; d < rank_; ++d) {
    index[d] = rest % extents_[d];
    rest /= extents_[d];
    for (int i = 0; i < count_; ++i) data[i] += index[d] * operand(i).strides[d];
  }
  while (begin < end) {
    const int64_t run = std::min(extents_[0] - index[0], end - begin);
    loop(data, inner, run);
    begin += run;
    index[0] += run;
    for (int i = 0; i < count_; ++i) data[i] += run * inner[i];
    for (int d = 0; d + 1 < rank_ && index[d] == extents_[d]; ++d) {
      index[d] = 0;
      ++index[d + 1];
      for (int i = 0; i < count_; ++i) {
        const int64_t* strides = operand(i).strides;
        data[i] += strides[d + 1] - extents_[d] * strides[d];
      }
    }
  }
}

}  // namespace flambeau
