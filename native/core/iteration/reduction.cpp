#include "core/iteration/reduction.h"

#include <algorithm>
#include <limits>

#include "core/geometry/shape_rules.h"
#include "core/tensor/overlap.h"

namespace flambeau {

void Reduction::add_output(DType dtype, const Tensor& output) {
  check(output_count_ < kMaxOutputs, ErrorKind::runtime, op_, ": more than ", kMaxOutputs,
        " outputs");
  Output& state = outputs_[output_count_++];
  state.dtype = dtype;
  state.destination = output;
}

void Reduction::build(const Tensor& input, std::optional<IntList> dims, bool keepdim) {
  check(input.defined(), ErrorKind::type, op_, ": expected a tensor, got None");
  input_ = input;
  device_ = input.device();
  const int64_t rank = input.dim();
  const Shape reduced = shape_rules::wrap_dims(dims, rank, op_);
  uint64_t mask = 0;
  if (rank > 0)
    for (const int64_t dim : reduced) mask |= uint64_t{1} << dim;
  count_ = 1;
  Shape result;
  for (int64_t d = 0; d < rank; ++d) {
    if (mask >> d & 1) {
      // A tensor without elements may have sizes whose product does not fit.
      if (__builtin_mul_overflow(count_, input.sizes()[d], &count_))
        count_ = std::numeric_limits<int64_t>::max();
      if (keepdim) result.push_back(1);
    } else {
      result.push_back(input.sizes()[d]);
    }
  }
  prepare_outputs(result);
  output_numel_ = outputs_[0].computed.numel();
  merge(input.sizes(), input.strides(), mask, keepdim);
  classify();
}

void Reduction::prepare_outputs(IntList shape) {
  check(output_count_ > 0, ErrorKind::runtime, op_, ": a reduction needs an output");
  for (int i = 0; i < output_count_; ++i) {
    Output& output = outputs_[i];
    const Tensor given = std::exchange(output.destination, Tensor());
    if (!given.defined()) {
      output.computed = empty(shape, output.dtype, device_);
      continue;
    }
    check(given.device() == device_, ErrorKind::runtime, op_, ": argument out is on ",
          given.device(), ", expected ", device_);
    check(can_cast(output.dtype, given.dtype()), ErrorKind::runtime, op_, ": a result of dtype ",
          output.dtype, " cannot be written to a tensor of dtype ", given.dtype());
    if (!equal(given.sizes(), shape)) {
      check(given.numel() == 0 && !given.is_same(input_), ErrorKind::runtime, op_,
            ": argument out has shape ", given.sizes(), ", expected ", ShapeText{shape},
            " or an empty tensor");
      resize_data(given, shape, op_);
    }
    check_writable(given, op_);
    if (given.dtype() == output.dtype && !may_overlap(given, input_)) {
      output.computed = given;
    } else {
      output.computed = empty(shape, output.dtype, device_);
      output.destination = given;
    }
  }
}

namespace {
struct WalkedDim {
  int64_t extent, input;
  int64_t outputs[Reduction::kMaxOutputs];
};

/// Sorts by input stride, innermost first, and merges dims that continue each other in the input
/// and in every output. Returns the new count.
int merge_dims(WalkedDim* dims, int count, int outputs) {
  // Dims of stride 0 repeat what is there: they stand outside.
  std::stable_sort(dims, dims + count, [](const WalkedDim& a, const WalkedDim& b) {
    const uint64_t x = static_cast<uint64_t>(std::abs(a.input)) - 1;
    return x < static_cast<uint64_t>(std::abs(b.input)) - 1;
  });
  int merged = 0;
  for (int d = 0; d < count; ++d) {
    if (merged > 0) {
      WalkedDim& inner = dims[merged - 1];
      bool continues = dims[d].input == inner.input * inner.extent;
      for (int i = 0; i < outputs; ++i)
        continues &= dims[d].outputs[i] == inner.outputs[i] * inner.extent;
      if (continues) {
        inner.extent *= dims[d].extent;
        continue;
      }
    }
    dims[merged++] = dims[d];
  }
  return merged;
}
}  // namespace

void Reduction::merge(IntList sizes, IntList strides, uint64_t reduced_mask, bool keepdim) {
  input_data_ = input_.data<const char>();
  for (int i = 0; i < output_count_; ++i) outputs_[i].data = outputs_[i].computed.data<char>();
  kept_rank_ = reduced_rank_ = 0;
  if (output_numel_ == 0) return;
  const int64_t input_bytes = static_cast<int64_t>(input_.itemsize());
  const bool is_empty = input_.numel() == 0;
  WalkedDim kept[kMaxDims], reduced[kMaxDims];
  int kept_count = 0, reduced_count = 0;
  size_t out_dim = 0;
  // From the last dim, so that the order of equal strides is row-major.
  for (size_t d = sizes.size(); d-- > 0;) {
    const bool is_reduced = reduced_mask >> d & 1;
    const size_t position = out_dim;
    if (!is_reduced || keepdim) ++out_dim;
    if (sizes[d] == 1) continue;
    WalkedDim& dim = is_reduced ? reduced[reduced_count++] : kept[kept_count++];
    dim = {sizes[d], is_empty ? 0 : strides[d] * input_bytes, {}};
    if (is_reduced) continue;
    for (int i = 0; i < output_count_; ++i) {
      const Tensor& output = outputs_[i].computed;
      dim.outputs[i] = output.strides()[output.sizes().size() - 1 - position] *
                       static_cast<int64_t>(output.itemsize());
    }
  }
  if (is_empty) {  // what is reduced holds nothing: its other sizes may be of any length
    reduced[0] = {0, 0, {}};
    reduced_count = 1;
  }
  kept_count = merge_dims(kept, kept_count, output_count_);
  reduced_count = merge_dims(reduced, reduced_count, 0);
  if (kept_count > kMaxRank || reduced_count > kMaxRank) {
    // As a dense row-major tensor, few dims remain; only alternating ones could still be too many.
    check(!input_.is_contiguous(), ErrorKind::not_implemented, op_, ": more than ", kMaxRank,
          " separate groups of dimensions, shape ", input_.sizes());
    input_ = contiguous_data(input_);
    return merge(input_.sizes(), input_.strides(), reduced_mask, keepdim);
  }
  kept_rank_ = kept_count;
  reduced_rank_ = reduced_count;
  for (int d = 0; d < kept_rank_; ++d) {
    kept_extents_[d] = kept[d].extent;
    input_kept_strides_[d] = kept[d].input;
    for (int i = 0; i < output_count_; ++i) outputs_[i].strides[d] = kept[d].outputs[i];
  }
  for (int d = 0; d < reduced_rank_; ++d) {
    reduced_extents_[d] = reduced[d].extent;
    reduced_strides_[d] = reduced[d].input;
  }
  if (reduced_rank_ == 0 && count_ == 1) {
    // One element each: a run of one, so that kernels see a reduced dim in every case.
    reduced_rank_ = 1;
    reduced_extents_[0] = 1;
    reduced_strides_[0] = input_bytes;
  }
}

void Reduction::classify() {
  kind_ = Kind::general;
  if (count_ == 0 || output_numel_ == 0 || reduced_rank_ != 1) return;
  const int64_t input_bytes = static_cast<int64_t>(input_.itemsize());
  const bool dense_reduced = reduced_strides_[0] == input_bytes;
  if (kept_rank_ == 0) {
    if (dense_reduced) kind_ = Kind::full;
    return;
  }
  bool dense_kept = input_kept_strides_[0] == input_bytes;
  for (int i = 0; i < output_count_; ++i)
    dense_kept &= outputs_[i].strides[0] == static_cast<int64_t>(outputs_[i].computed.itemsize());
  // One element to reduce: stepping along the outputs is the better order.
  if (dense_kept && (!dense_reduced || count_ == 1)) {
    kind_ = Kind::outer;
  } else if (dense_reduced) {
    kind_ = Kind::inner;
  }
}

void Reduction::finish() {
  for (int i = 0; i < output_count_; ++i)
    if (outputs_[i].destination.defined()) copy_data(outputs_[i].destination, outputs_[i].computed);
}

void Reduction::for_each_output(int64_t begin, int64_t end, OutputBody body) const {
  for_each_output_run(begin, end, [&](const char* input, char* const* outputs, int64_t count) {
    char* positions[kMaxOutputs] = {};
    std::copy_n(outputs, output_count_, positions);
    for (int64_t k = 0; k < count; ++k) {
      body(input, positions);
      if (kept_rank_ == 0) return;
      input += input_kept_strides_[0];
      for (int i = 0; i < output_count_; ++i) positions[i] += outputs_[i].strides[0];
    }
  });
}

void Reduction::for_each_output_run(int64_t begin, int64_t end, OutputRunBody body) const {
  if (begin >= end) return;
  const char* input = input_data_;
  char* outputs[kMaxOutputs] = {};
  for (int i = 0; i < output_count_; ++i) outputs[i] = outputs_[i].data;
  if (kept_rank_ == 0) return body(input, outputs, end - begin);
  int64_t index[kMaxRank];
  int64_t rest = begin;
  for (int d = 0; d < kept_rank_; ++d) {
    index[d] = rest % kept_extents_[d];
    rest /= kept_extents_[d];
    input += index[d] * input_kept_strides_[d];
    for (int i = 0; i < output_count_; ++i) outputs[i] += index[d] * outputs_[i].strides[d];
  }
  while (begin < end) {
    const int64_t run = std::min(kept_extents_[0] - index[0], end - begin);
    body(input, outputs, run);
    begin += run;
    index[0] += run;
    input += run * input_kept_strides_[0];
    for (int i = 0; i < output_count_; ++i) outputs[i] += run * outputs_[i].strides[0];
    for (int d = 0; d + 1 < kept_rank_ && index[d] == kept_extents_[d]; ++d) {
      index[d] = 0;
      ++index[d + 1];
      input += input_kept_strides_[d + 1] - kept_extents_[d] * input_kept_strides_[d];
      for (int i = 0; i < output_count_; ++i) {
        const int64_t* strides = outputs_[i].strides;
        outputs[i] += strides[d + 1] - kept_extents_[d] * strides[d];
      }
    }
  }
}

void Reduction::for_each_reduced_run(const char* input, int64_t begin, int64_t end,
                                     ReducedRunBody body) const {
  if (begin >= end) return;
  int64_t index[kMaxRank];
  int64_t rest = begin;
  for (int d = 0; d < reduced_rank_; ++d) {
    index[d] = rest % reduced_extents_[d];
    rest /= reduced_extents_[d];
    input += index[d] * reduced_strides_[d];
  }
  while (begin < end) {
    const int64_t run = std::min(reduced_extents_[0] - index[0], end - begin);
    body(input, reduced_strides_[0], run);
    begin += run;
    index[0] += run;
    input += run * reduced_strides_[0];
    for (int d = 0; d + 1 < reduced_rank_ && index[d] == reduced_extents_[d]; ++d) {
      index[d] = 0;
      ++index[d + 1];
      input += reduced_strides_[d + 1] - reduced_extents_[d] * reduced_strides_[d];
    }
  }
}

}  // namespace flambeau
