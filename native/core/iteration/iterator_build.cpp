// Iterator::build for operands that differ in shape, layout, dtype or device.

#include <algorithm>
#include <numeric>

#include "core/geometry/broadcast.h"
#include "core/iteration/iterator.h"
#include "core/tensor/overlap.h"
#include "core/tensor/promotion.h"

namespace flambeau {

void Iterator::build_general(PromotionRule rule) {
  find_device();
  find_common_dtype(rule);
  find_shape();
  convert_inputs(rule);
  for (int i = 0; i < outputs_; ++i) prepare_output(i);
  lay_out();
  set_data();
}

/// The one device of all tensors; 0-d CPU inputs may join any other as numbers.
void Iterator::find_device() {
  device_ = Device{};
  for (int i = 0; i < count_ && device_.is_cpu(); ++i)
    if (operand(i).defined()) device_ = operand(i).given->device();
  for (int i = 0; i < count_; ++i) {
    const OperandState& state = operand(i);
    if (!state.defined() || state.given->device() == device_) continue;
    check(state.role == Role::input && state.given->dim() == 0 && state.given->device().is_cpu(),
          ErrorKind::runtime, op_, ": expected all tensors on one device, got ", device_, " and ",
          state.given->device(), " (", i < outputs_ ? "output " : "input ",
          i < outputs_ ? i : i - outputs_, ", shape ", state.given->sizes(), ")");
  }
}

void Iterator::find_common_dtype(PromotionRule rule) {
  if (fixed_dtype_) {
    common_dtype_ = *fixed_dtype_;
  } else {
    Promotion promotion;
    for (int i = 0; i < count_; ++i) {
      const OperandState& state = operand(i);
      if (state.role == Role::in_out) {
        promotion.add(*state.given);
      } else if (i >= outputs_ && rule.promoted >> (i - outputs_) & 1) {
        if (state.is_number()) {
          promotion.add(state.number);
        } else {
          promotion.add(*state.given);
        }
      }
    }
    std::optional<DType> dtype = promotion.result();
    // Nothing to promote (a fill, a random draw): what is written decides, then what is read.
    for (int i = 0; i < count_ && !dtype; ++i) {
      const OperandState& state = operand(i);
      if (state.is_number()) {
        dtype = state.number.dtype();
      } else if (state.has_dtype) {
        dtype = state.dtype;
      } else if (state.defined()) {
        dtype = state.given->dtype();
      }
    }
    common_dtype_ = dtype.value_or(default_dtype());
    if (rule.integers_to_float && !is_differentiable(common_dtype_))
      common_dtype_ = default_dtype();
  }
  for (int i = 0; i < outputs_; ++i) {
    OperandState& state = operand(i);
    if (!state.has_dtype) state.dtype = common_dtype_;
    check(state.role != Role::in_out || state.dtype == common_dtype_, ErrorKind::runtime, op_,
          ": operand ", i, " is written in place and has dtype ", state.dtype,
          ", but the operands together have dtype ", common_dtype_);
  }
}

void Iterator::find_shape() {
  bool any = false;
  if (fixed_shape_) {
    own_shape_ = *fixed_shape_;
    any = true;
    for (int i = 0; i < count_; ++i) {
      const OperandState& state = operand(i);
      if (state.role == Role::output || state.is_number()) continue;
      check(equal(broadcast_shapes(own_shape_, state.given->sizes(), op_), own_shape_),
            ErrorKind::runtime, op_, ": an operand of shape ", state.given->sizes(),
            " does not broadcast to the shape ", own_shape_, " of the result");
    }
  } else {
    for (int i = 0; i < count_; ++i) {
      const OperandState& state = operand(i);
      if (state.role == Role::output) continue;
      const IntList sizes = state.is_number() ? IntList() : IntList(state.given->sizes());
      if (any) {
        if (!equal(own_shape_, sizes)) own_shape_ = broadcast_shapes(own_shape_, sizes, op_);
      } else {
        own_shape_ = sizes;
      }
      any = true;
    }
  }
  if (outputs_ == count_ && !any) {
    for (int i = 0; i < outputs_ && !any; ++i) {
      if (!operand(i).defined()) continue;
      own_shape_ = operand(i).given->sizes();
      any = true;
    }
    check(any, ErrorKind::runtime, op_, ": neither an input nor an output gives a shape");
  }
  shape_ = &own_shape_;
  numel_ = checked_numel(own_shape_, op_);
}

/// Inputs in other dtypes are converted up front; single elements become numbers.
void Iterator::convert_inputs(PromotionRule rule) {
  for (int i = outputs_; i < count_; ++i) {
    OperandState& state = operand(i);
    const bool promoted = rule.promoted >> (i - outputs_) & 1;
    const DType dtype = promoted ? common_dtype_ : state.dtype;
    if (state.is_number()) {
      set_number(state, promoted ? common_dtype_ : state.number.dtype());
      continue;
    }
    const Tensor& tensor = *state.given;
    const bool foreign = tensor.device() != device_;
    if (tensor.dtype() == dtype && !foreign) continue;
    if (tensor.device().is_cpu() && tensor.dim() == 0) {
      state.number = item(tensor);
      set_number(state, dtype);
    } else {
      state.owned = cast_data(tensor, dtype);
      state.dtype = dtype;
    }
  }
}

/// Checks an output that the caller gave; resizes it, or puts a temporary before it.
void Iterator::prepare_output(int i) {
  OperandState& state = operand(i);
  if (!state.given->defined()) return;
  const Tensor& given = *state.given;
  check(can_cast(state.dtype, given.dtype()), ErrorKind::runtime, op_, ": a result of dtype ",
        state.dtype, " cannot be written to a tensor of dtype ", given.dtype(),
        "; convert the tensor, or use the form that gives a new one");
  if (!equal(given.sizes(), own_shape_)) {
    bool is_read = state.role == Role::in_out;
    for (int j = outputs_; j < count_; ++j)
      is_read |= operand(j).given && operand(j).given->is_same(given);
    check(!is_read, ErrorKind::runtime, op_, ": a tensor of shape ", given.sizes(),
          " cannot be written in place with a result of shape ", own_shape_);
    check(given.numel() == 0, ErrorKind::runtime, op_, ": argument out has shape ", given.sizes(),
          ", expected ", own_shape_, " or an empty tensor");
    resize_data(given, own_shape_, op_);
  }
  check_writable(given, op_);
  for (int j = 0; j < i; ++j) {
    const OperandState& state_j = operand(j);
    const Tensor& other = state_j.destination.defined() ? state_j.destination : *state_j.given;
    check(!other.defined() || !may_overlap(other, given), ErrorKind::runtime, op_, ": outputs ", j,
          " and ", i, " share memory");
  }
  if (given.dtype() == state.dtype) {
    separate_inputs(i);
    return;
  }
  state.destination = given;
  state.given = &state.owned;  // allocated by lay_out()
}

/// Copies inputs that an output overlaps without being the very same elements.
void Iterator::separate_inputs(int output) {
  const Tensor& given = *operand(output).given;
  for (int j = outputs_; j < count_; ++j) {
    OperandState& state = operand(j);
    if (state.is_number() || state.owned.defined()) continue;
    const Tensor& input = *state.given;
    const bool same = input.storage() == given.storage() && input.offset() == given.offset() &&
                      input.dtype() == given.dtype() && equal(input.sizes(), given.sizes()) &&
                      equal(input.strides(), given.strides());
    if (same || !may_overlap(given, input)) continue;
    state.owned = empty(input.sizes(), input.dtype(), input.device());
    copy_data(state.owned, input);
  }
}

/// Byte strides of all operands over the broadcast dims, in the order of the shape.
struct Iterator::Geometry {
  int64_t strides[kMaxOperands][kMaxDims];
  int order[kMaxDims];  // dims, innermost first

  static void broadcast(const Tensor& tensor, IntList shape, int64_t* strides) {
    const size_t missing = shape.size() - tensor.sizes().size();
    // Strides of an empty tensor may not fit, and are not followed: they wrap.
    const uint64_t bytes = tensor.itemsize();
    std::fill_n(strides, missing, 0);
    for (size_t d = missing; d < shape.size(); ++d) {
      const auto stride = static_cast<uint64_t>(tensor.strides()[d - missing]);
      strides[d] = tensor.sizes()[d - missing] == 1 ? 0 : static_cast<int64_t>(stride * bytes);
    }
  }
};

/// Orders dims by stride, allocates outputs in that order, merges dims that continue each other.
void Iterator::lay_out() {
  Geometry geometry;
  const int rank = static_cast<int>(own_shape_.size());
  int present[kMaxOperands], present_count = 0;
  for (int i = 0; i < count_; ++i) {
    if (operand(i).is_number()) {
      std::fill_n(geometry.strides[i], rank, 0);
    } else if (operand(i).defined()) {
      Geometry::broadcast(operand(i).tensor(), own_shape_, geometry.strides[i]);
      present[present_count++] = i;
    }
  }
  // Whether dim a, which stands inside dim b, should stand outside of it: the first operand that
  // walks both decides, so that the memory of outputs counts before that of inputs. 0: no opinion.
  const auto compare = [&](int a, int b) {
    for (int k = 0; k < present_count; ++k) {
      const int64_t* strides = geometry.strides[present[k]];
      const int64_t x = std::abs(strides[a]), y = std::abs(strides[b]);
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (own_shape_[a] > own_shape_[b]) return 1;
    }
    return 0;
  };
  int* order = geometry.order;
  for (int i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    for (int outer = i, inner = i - 1; inner >= 0; --inner) {
      const int opinion = compare(order[inner], order[outer]);
      if (opinion < 0) break;
      if (opinion == 0) continue;
      std::swap(order[inner], order[outer]);
      outer = inner;
    }
  }
  for (int i = 0; i < outputs_; ++i) {
    OperandState& state = operand(i);
    if (state.defined()) continue;
    Shape strides(static_cast<size_t>(rank), 1);
    int64_t step = 1;
    for (int d = 0; d < rank; ++d) {
      strides[order[d]] = step;
      // Sizes of what has no elements may be any.
      const int64_t size = std::max<int64_t>(own_shape_[order[d]], 1);
      if (int64_t next = 0; !__builtin_mul_overflow(step, size, &next)) step = next;
    }
    state.owned = empty_strided(own_shape_, strides, state.dtype, device_);
    Geometry::broadcast(state.owned, own_shape_, geometry.strides[i]);
  }

  rank_ = 0;
  for (int d = 0; d < rank && numel_ > 0; ++d) {
    const int dim = order[d];
    const int64_t extent = own_shape_[dim];
    if (extent == 1) continue;
    bool continues = rank_ > 0;
    for (int i = 0; i < count_ && continues; ++i)
      continues = geometry.strides[i][dim] == operand(i).strides[rank_ - 1] * extents_[rank_ - 1];
    if (continues) {
      extents_[rank_ - 1] *= extent;
      continue;
    }
    if (rank_ == kMaxRank) return make_dense();
    extents_[rank_] = extent;
    for (int i = 0; i < count_; ++i) operand(i).strides[rank_] = geometry.strides[i][dim];
    ++rank_;
  }
  // One element, or none: kernels take their shortest path.
  if (rank_ == 0 || numel_ == 0) make_run();
}

void Iterator::make_run() {
  rank_ = 1;
  extents_[0] = numel_;
  for (int i = 0; i < count_; ++i) {
    OperandState& state = operand(i);
    state.strides[0] = state.is_number() ? 0 : static_cast<int64_t>(size_of(state.dtype));
  }
}

/// More dims than the loops walk, even merged: works on dense copies.
void Iterator::make_dense() {
  for (int i = 0; i < count_; ++i) {
    OperandState& state = operand(i);
    if (state.is_number()) continue;
    Tensor dense = empty(own_shape_, state.dtype, device_);
    if (i >= outputs_ || state.role == Role::in_out) copy_data(dense, state.tensor());
    if (i < outputs_ && !state.destination.defined()) state.destination = state.tensor();
    state.owned = std::move(dense);
  }
  make_run();
}

void Iterator::set_data() {
  for (int i = 0; i < count_; ++i) {
    OperandState& state = operand(i);
    if (!state.is_number()) state.data = device_.is_meta() ? nullptr : state.tensor().data<char>();
  }
}

}  // namespace flambeau
