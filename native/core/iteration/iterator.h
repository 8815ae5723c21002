#pragma once

#include <cstddef>
#include <new>
#include <optional>

#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"

namespace flambeau {

/// How operand dtypes become the dtype that a kernel computes in. Emitted from an operator's
/// `dtypes`.
struct PromotionRule {
  uint32_t promoted = ~0u;  ///< bit i: input i takes part and is converted to the common dtype
  bool integers_to_float = false;  ///< a common dtype of bool or integers becomes the default float
};

/// Walks the elements of broadcast operands: broadcasts, promotes, allocates outputs, reorders and
/// merges dimensions, then hands runs of elements to a loop. Outputs come first, inputs after them.
///
///   Iterator iter("add");
///   iter.add_output(out);               // undefined: allocated by build()
///   iter.add_input(self); iter.add_input(other);
///   iter.build({.promoted = 0b11});
///   table[iter.backend()](iter, parameters);
///   return iter.output(0);
class FLAMBEAU_API Iterator {
 public:
  static constexpr int kMaxOperands = 12;
  using Loop = FunctionRef<void(char* const* data, const int64_t* strides, int64_t count)>;

  explicit Iterator(const char* op) : op_(op) {}
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  ~Iterator() {
    for (int i = 0; i < count_; ++i) operand(i).~OperandState();
  }

  // Tensors are borrowed until the iterator is done, so temporaries are refused.
  void add_output(Tensor&&, std::optional<DType> = {}) = delete;
  void add_in_out(Tensor&&) = delete;
  void add_input(Tensor&&) = delete;
  /// `dtype`: the declared result dtype; none: the common dtype. An undefined tensor is allocated.
  void add_output(const Tensor& output, std::optional<DType> dtype = {}) {
    add_operand(&output, Role::output, dtype.value_or(DType::float32), dtype.has_value());
    ++outputs_;
  }
  /// An output that is also read (Tensor(mut)): in place, never resized, not converted.
  void add_in_out(const Tensor& tensor) {
    if (FLAMBEAU_UNLIKELY(!tensor.defined())) missing_tensor();
    add_operand(&tensor, Role::in_out, tensor.dtype(), true);
    ++outputs_;
  }
  void add_input(const Tensor& input) {
    if (FLAMBEAU_UNLIKELY(!input.defined())) missing_tensor();
    add_operand(&input, Role::input, input.dtype(), false);
  }
  /// A number becomes a stride-0 operand in the common dtype, and is weak in promotion.
  void add_input(const Operand& input) {
    if (input.is_tensor()) return add_input(input.tensor());
    add_operand(nullptr, Role::number, DType::float32, false).number = input.scalar();
  }
  /// Broadcasts, promotes, converts, allocates, checks overlap; errors name op_ and both shapes.
  /// Out tensors given by the caller are resized when empty, must have the right shape otherwise,
  /// and must be able to hold the common dtype. Inputs whose memory overlaps an output partially
  /// are copied first.
  void build(PromotionRule rule = {});
  /// Like build(), with the common dtype and shape fixed by the caller.
  void set_common_dtype(DType dtype) { fixed_dtype_ = dtype; }
  void set_shape(IntList sizes) { fixed_shape_ = Shape(sizes); }

  const char* op() const { return op_; }
  DType common_dtype() const { return common_dtype_; }
  DType dtype(int operand) const { return this->operand(operand).dtype; }
  Backend backend() const { return device_.backend; }
  Device device() const { return device_; }
  /// The broadcast shape, before merging.
  const Shape& shape() const { return *shape_; }
  int64_t numel() const { return numel_; }
  int operand_count() const { return count_; }
  int output_count() const { return outputs_; }
  /// The tensor of output i, after finish() if it needed a conversion.
  const Tensor& output(int i) const {
    const OperandState& state = operand(i);
    return state.destination.defined() ? state.destination : state.tensor();
  }
  /// An operand as kernels read or write it: converted, or allocated here. A number is a tensor
  /// without dims on the CPU.
  Tensor tensor(int i) const;
  /// Whether output i was allocated here: nobody else sees its memory.
  bool is_fresh(int i) const { return operand(i).owned.defined(); }
  /// output(i), for who is done with the iterator.
  Tensor take_output(int i) {
    OperandState& state = operand(i);
    if (state.destination.defined()) return std::move(state.destination);
    return state.owned.defined() ? std::move(state.owned) : *state.given;
  }
  /// Copies results that were computed in the common dtype into out tensors of another dtype.
  /// Called by the operator.
  void finish();

  /// Merged geometry, innermost dimension first; byte strides per operand: what a kernel of another
  /// backend reads.
  int rank() const { return rank_; }
  int64_t extent(int dim) const {
    FLAMBEAU_ASSERT(0 <= dim && dim < rank_);
    return extents_[dim];
  }
  int64_t byte_stride(int operand, int dim) const {
    FLAMBEAU_ASSERT(0 <= dim && dim < rank_);
    return this->operand(operand).strides[dim];
  }
  char* data(int operand) const { return this->operand(operand).data; }
  /// Every operand is dense in the same order or a stride-0 scalar: one run of numel() elements.
  bool is_one_run() const { return rank_ <= 1; }

  /// CPU: calls loop on runs that cover all elements; several threads when numel * cost is large.
  /// strides: bytes per operand. `cost`: relative to one addition.
  void for_each(Loop loop, int64_t cost = 1) const;
  /// The same over elements [begin, end) of the merged order, on this thread.
  void for_range(Loop loop, int64_t begin, int64_t end) const;

 private:
  static constexpr int kMaxRank = 16;  // after merging; operands above it are made dense first
  enum class Role : uint8_t { output, in_out, input, number };
  struct OperandState {
    const Tensor* given;  // borrowed from the caller; null for a number
    char* data;
    Role role;
    DType dtype;
    bool has_dtype;      // an output whose dtype is declared
    Tensor owned;        // allocated output, converted input
    Tensor destination;  // out tensor awaiting finish()
    Scalar number;
    alignas(16) char number_storage[16];
    int64_t strides[kMaxRank];  // in bytes, merged; set by build()

    OperandState(const Tensor* tensor, Role r, DType d, bool fixed)
        : given(tensor), data(nullptr), role(r), dtype(d), has_dtype(fixed) {}
    bool defined() const { return owned.defined() || (given && given->defined()); }
    const Tensor& tensor() const { return owned.defined() ? owned : *given; }
    bool is_number() const { return role == Role::number; }
  };
  struct Geometry;  // strides before merging

  OperandState& operand(int i) {
    FLAMBEAU_ASSERT(0 <= i && i < count_);
    return reinterpret_cast<OperandState*>(operands_)[i];
  }
  const OperandState& operand(int i) const {
    FLAMBEAU_ASSERT(0 <= i && i < count_);
    return reinterpret_cast<const OperandState*>(operands_)[i];
  }
  OperandState& add_operand(const Tensor* tensor, Role role, DType dtype, bool has_dtype) {
    if (FLAMBEAU_UNLIKELY(count_ == kMaxOperands)) too_many_operands();
    return *new (&operand(count_++)) OperandState(tensor, role, dtype, has_dtype);
  }
  [[noreturn]] void missing_tensor() const;
  [[noreturn]] void too_many_operands() const;
  bool build_fast(PromotionRule rule);
  void build_general(PromotionRule rule);
  void find_device();
  void find_common_dtype(PromotionRule rule);
  void find_shape();
  void convert_inputs(PromotionRule rule);
  void prepare_output(int i);
  void separate_inputs(int output);
  void lay_out();
  void make_run();  // one dense run of elements
  void make_dense();
  void set_data();
  void set_number(OperandState& state, DType dtype);

  const char* op_;
  int count_ = 0, outputs_ = 0, rank_ = 0;
  int64_t numel_ = 0;
  DType common_dtype_ = DType::float32;
  Device device_;
  std::optional<DType> fixed_dtype_;
  std::optional<Shape> fixed_shape_;
  const Shape* shape_ = &own_shape_;
  Shape own_shape_;
  int64_t extents_[kMaxRank];
  // Raw memory: only the operands that were added are ever constructed or touched.
  alignas(OperandState) std::byte operands_[kMaxOperands * sizeof(OperandState)];
};

}  // namespace flambeau
