#include "operators/summed_gradients.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/geometry/shape_rules.h"
#include "core/tensor/formula_rules.h"
#include "core/tensor/views.h"
#include "core/threads/parallel.h"
#include "operators/computing.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/view_grad.h"

namespace flambeau::forms::detail {
namespace {

/// Of one tensor of a part, so that those of a few stay in a cache. A few elements are two parts,
/// for as many threads, which would wait for each other's lines of cache; fewer are computed at
/// once.
constexpr int64_t kPartBytes = int64_t{1} << 18, kLeastElements = 65536;

/// Whether dims further to the left are further apart in memory, but for what is repeated.
bool lies_in_order(const Tensor& tensor) {
  int64_t least = 0;
  for (size_t d = tensor.sizes().size(); d-- > 0;) {
    const int64_t stride = tensor.strides()[d];
    if (tensor.sizes()[d] == 1 || stride == 0) continue;
    if (stride < least) return false;
    least = stride;
  }
  return true;
}

/// A view of the sizes of the gradient.
Tensor repeated(const Operand& input, const Tensor& grad) {
  return make_view(input.tensor(), views::expand(input.tensor(), grad.sizes()));
}

/// The sizes that a gradient of some sizes is summed to; its own where nothing is known.
IntList expected_sizes(const autograd::Edge& edge, IntList sizes) {
  if (edge.index >= edge.node->outputs.size()) return sizes;
  const autograd::Node::OutputInfo& expected = edge.node->outputs[edge.index];
  return expected.is_set ? IntList(expected.sizes) : sizes;
}

/// Whether a gradient of some sizes is summed, to sizes that broadcast to them.
bool is_summed(const autograd::Edge& edge, IntList sizes) {
  const IntList expected = expected_sizes(edge, sizes);
  return !equal(expected, sizes) && shape_rules::expandable(expected, sizes);
}

/// What a gradient is summed to, of as many dims as it has itself.
Shape sizes_of_sum(const autograd::Edge& edge, IntList sizes) {
  if (!is_summed(edge, sizes)) return sizes;
  const IntList expected = expected_sizes(edge, sizes);
  Shape kept(sizes.size(), 1);
  std::copy(expected.begin(), expected.end(), kept.end() - expected.size());
  return kept;
}

bool may_be_parted(const Tensor& grad, const Tensor& input) {
  return input.dtype() == grad.dtype() && input.device() == grad.device() &&
         input.dim() <= grad.dim() && lies_in_order(input);
}

/// Ranges of one dim, for each index of the dims to its left: parts that lie together.
class Parts {
 public:
  Parts(IntList sizes, int64_t most) : sizes_(sizes) {
    int64_t right = shape_rules::numel(sizes), left = 1;
    for (dim_ = 0;; left *= sizes[dim_++]) {
      right /= sizes[dim_];
      if (right <= most || dim_ + 1 == sizes.size()) break;
    }
    length_ = std::clamp<int64_t>(most / right, 1, sizes[dim_]);
    elements_ = length_ * right;
    ranges_ = (sizes[dim_] - 1) / length_ + 1;
    count_ = left * ranges_;
  }
  int64_t count() const { return count_; }
  /// Of the largest part.
  int64_t elements() const { return elements_; }
  /// Whether parts of what all dims but these are summed to do not meet.
  bool are_apart(IntList kept) const {
    return std::equal(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(dim_) + 1,
                      sizes_.begin());
  }
  /// Of a tensor of all sizes, or of size 1 where it has but one element.
  Tensor of(const Tensor& tensor, int64_t part) const {
    View view{IntList(tensor.sizes()).subspan(dim_), IntList(tensor.strides()).subspan(dim_),
              tensor.offset()};
    int64_t rest = part / ranges_;
    for (size_t d = dim_; d-- > 0; rest /= sizes_[d])
      if (tensor.sizes()[d] > 1) view.offset += rest % sizes_[d] * tensor.strides()[d];
    if (view.sizes[0] > 1) {
      const int64_t begin = part % ranges_ * length_;
      view.sizes[0] = std::min(length_, sizes_[dim_] - begin);
      view.offset += begin * view.strides[0];
    }
    return make_view(tensor, view);
  }

 private:
  Shape sizes_;
  size_t dim_ = 0;
  int64_t length_ = 1, elements_ = 1, ranges_ = 1, count_ = 1;
};

/// One of the gradients that are computed in parts.
class Sum {
 public:
  Sum(const WantedGradient& wanted, IntList kept, const Tensor& grad, const Parts& parts)
      : wanted_(wanted), is_whole_(equal(kept, grad.sizes())), are_apart_(parts.are_apart(kept)) {
    total_ = is_whole_ ? empty(grad.sizes(), grad.dtype(), grad.device())
                       : ops::zeros(kept, grad.dtype(), grad.device());
    if (!are_apart_) partial_.resize(static_cast<size_t>(parts.count()));
  }
  /// For parts that are not kept; nothing where they are.
  Tensor memory(int64_t elements) const {
    return is_whole_ ? Tensor() : empty(Shape{elements}, total_.dtype(), total_.device());
  }
  /// Where a part of some sizes is to be written.
  Tensor place(const Parts& parts, int64_t part, IntList sizes, const Tensor& memory) const {
    if (is_whole_) return parts.of(total_, part);
    return make_view(memory, View{sizes, contiguous_strides(sizes), 0});
  }
  void add(const Parts& parts, int64_t part, const Tensor& computed) {
    if (is_whole_) return;
    const Tensor to = parts.of(total_, part);
    if (are_apart_) return copy_data(to, ops::sum_to_size(computed, to.sizes()));
    Tensor& sum = partial_[static_cast<size_t>(part)];
    sum = equal(computed.sizes(), to.sizes()) ? ops::clone(computed)
                                              : ops::sum_to_size(computed, to.sizes());
  }
  /// In the order of the parts, whatever thread computed them.
  void finish(const Parts& parts) {
    for (size_t part = 0; part < partial_.size(); ++part)
      ops::add_(parts.of(total_, static_cast<int64_t>(part)), partial_[part]);
    const IntList sizes = expected_sizes(wanted_.edge, total_.sizes());
    wanted_.gradient = is_whole_ ? total_ : make_view(total_, views::view(total_, sizes));
  }

 private:
  WantedGradient wanted_;
  bool is_whole_, are_apart_;
  Tensor total_;
  std::vector<Tensor> partial_;
};

/// Runs a kernel on a part of all operands.
void compute_part(const char* op, PromotionRule rule, const Parts& parts, int64_t part,
                  std::span<const Operand> inputs, FunctionRef<void(Iterator&)> kernel,
                  std::span<Sum> sums, std::span<const Tensor> memory) {
  SmallVector<Tensor, 4> read, written;  // which the iterator borrows
  for (const Operand& input : inputs)
    read.push_back(input.is_tensor() ? parts.of(input.tensor(), part) : Tensor());
  for (size_t i = 0; i < sums.size(); ++i)
    written.push_back(sums[i].place(parts, part, read[0].sizes(), memory[i]));
  Iterator iter(op);
  for (const Tensor& output : written) iter.add_output(output);
  size_t i = 0;
  for (const Operand& input : inputs) {
    const Tensor& tensor = read[i++];
    iter.add_input(tensor.defined() ? Operand(tensor) : input);
  }
  iter.build(rule);
  kernel(iter);
  for (i = 0; i < sums.size(); ++i) sums[i].add(parts, part, written[i]);
}

/// Gradients are multiples of that of the result: of what no other tensor takes part in, the
/// multiple of the sum is computed.
bool multiply_sum(const char* op, PromotionRule rule, std::span<const Operand> inputs,
                  FunctionRef<void(Iterator&)> kernel, const WantedGradient& wanted) {
  const auto is_tensor = [](const Operand& input) { return input.is_tensor(); };
  if (std::count_if(inputs.begin(), inputs.end(), is_tensor) != 1) return false;
  const Tensor& grad = inputs[0].tensor();
  const Tensor sum = ops::sum_to_size(grad, expected_sizes(wanted.edge, grad.sizes()));
  std::vector<Operand> summed(inputs.begin(), inputs.end());
  summed[0] = Operand(sum);
  wanted.gradient = gradient(op, rule, summed, kernel, wanted.edge);
  return true;
}

/// Runs a kernel on all parts. A thread writes its parts to the same memory, in its own cache.
void compute_parts(const char* op, PromotionRule rule, const Parts& parts,
                   std::span<const Operand> inputs, FunctionRef<void(Iterator&)> kernel,
                   std::span<Sum> sums) {
  const int64_t share = (parts.count() - 1) / num_threads() + 1;
  parallel_for(0, parts.count(), share, [&](int64_t begin, int64_t end) {
    SmallVector<Tensor, 2> memory;
    for (const Sum& sum : sums) memory.push_back(sum.memory(parts.elements()));
    for (int64_t part = begin; part < end; ++part)
      compute_part(op, rule, parts, part, inputs, kernel, sums, memory);
  });
}

}  // namespace

bool sum_gradients(const char* op, PromotionRule rule, std::span<const Operand> inputs,
                   FunctionRef<void(Iterator&)> kernel, std::span<const WantedGradient> wanted) {
  if (!inputs[0].is_tensor()) return false;
  const Tensor& grad = inputs[0].tensor();
  const auto is_sum = [&](const WantedGradient& one) { return is_summed(one.edge, grad.sizes()); };
  if (std::none_of(wanted.begin(), wanted.end(), is_sum)) return false;
  if (wanted.size() == 1 && multiply_sum(op, rule, inputs, kernel, wanted[0])) return true;
  const bool has_dtype = grad.dtype() == DType::float32 || grad.dtype() == DType::float64;
  if (!has_dtype || grad.device().backend != Backend::cpu) return false;
  if (grad.numel() < kLeastElements) return false;
  const int64_t most =
      std::min(kPartBytes / static_cast<int64_t>(size_of(grad.dtype())), (grad.numel() + 1) / 2);

  std::vector<Tensor> spread;
  std::vector<Operand> operands;
  spread.reserve(inputs.size());
  for (const Operand& input : inputs) {
    if (input.is_tensor() && !may_be_parted(grad, input.tensor())) return false;
    operands.push_back(input.is_tensor() ? Operand(spread.emplace_back(repeated(input, grad)))
                                         : input);
  }
  const Parts parts(grad.sizes(), most);
  std::vector<Sum> sums;
  for (const WantedGradient& one : wanted)
    sums.emplace_back(one, sizes_of_sum(one.edge, grad.sizes()), grad, parts);
  compute_parts(op, rule, parts, operands, kernel, sums);
  for (Sum& sum : sums) sum.finish(parts);
  return true;
}

}  // namespace flambeau::forms::detail
