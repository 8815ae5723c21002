#pragma once

/// A handful of float64 operators made by hand the way generated ones are: enough to test autograd
/// without the operator library.

#include <cmath>
#include <vector>

#include "autograd/engine/backward.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/history.h"
#include "autograd/graph/node.h"
#include "autograd/graph/operations.h"
#include "autograd/graph/saved.h"
#include "autograd/views/view.h"
#include "core/geometry/broadcast.h"

namespace flambeau::testing {

using namespace autograd;

inline Tensor values(IntList sizes, const std::vector<double>& data, bool wants_grad = false) {
  Tensor result = empty(sizes, DType::float64);
  for (size_t i = 0; i < data.size(); ++i) result.data<double>()[i] = data[i];
  if (wants_grad) set_requires_grad(result, true);
  return result;
}
inline Tensor full(IntList sizes, double value, bool wants_grad = false) {
  Tensor result = empty(sizes, DType::float64);
  fill_data(result, value);
  if (wants_grad) set_requires_grad(result, true);
  return result;
}
inline Tensor scalar(double value, bool wants_grad = false) {
  return full(Shape{}, value, wants_grad);
}
inline double at(const Tensor& tensor, int64_t i = 0) {
  return contiguous_data(tensor).data<double>()[i];
}

/// Elements of `a` and `b`, broadcast, through `function`; no autograd.
template <class Function>
Tensor combine(const Tensor& a, const Tensor& b, Function function) {
  const Shape sizes = broadcast_shapes(a.sizes(), b.sizes(), "combine");
  const Tensor left = empty(sizes, DType::float64), right = empty(sizes, DType::float64);
  copy_data(left, a);
  copy_data(right, b);
  for (int64_t i = 0; i < left.numel(); ++i) {
    left.data<double>()[i] = function(left.data<double>()[i], right.data<double>()[i]);
  }
  return left;
}
inline Tensor raw_sum(const Tensor& a) {
  double total = 0;
  for (int64_t i = 0; i < a.numel(); ++i) total += at(a, i);
  return scalar(total);
}

inline Tensor add(const Tensor& a, const Tensor& b);
inline Tensor mul(const Tensor& a, const Tensor& b);
inline Tensor expand(const Tensor& a, IntList sizes);

inline Tensor sum_to(const Tensor& a, IntList sizes);

struct AddBackward final : Node {
  const char* own_name() const override { return "AddBackward"; }
  Gradients apply(Gradients&& g) override {
    Gradients result(2);
    if (wants(0)) result[0] = g[0];
    if (wants(1)) result[1] = g[0];
    return result;
  }
};
struct MulBackward final : Node {
  SavedTensor self, other;
  const char* own_name() const override { return "MulBackward"; }
  Gradients apply(Gradients&& g) override {
    ++applied;
    Gradients result(2);
    if (wants(0)) result[0] = mul(g[0], other.unpack(*this));
    if (wants(1)) result[1] = mul(g[0], self.unpack(*this));
    return result;
  }
  void release_saved() override {
    self.reset();
    other.reset();
  }
  std::vector<std::pair<const char*, Tensor>> saved_tensors() const override {
    return {{"self", self.unpack(*this)}, {"other", other.unpack(*this)}};
  }
  inline static std::atomic<int> applied{0};
};
struct ExpBackward final : Node {
  SavedTensor result;
  const char* own_name() const override { return "ExpBackward"; }
  Gradients apply(Gradients&& g) override { return {mul(g[0], result.unpack(*this))}; }
  void release_saved() override { result.reset(); }
};
struct SumToBackward final : Node {
  Shape sizes;
  const char* own_name() const override { return "SumToBackward"; }
  Gradients apply(Gradients&& g) override { return {expand(g[0], sizes)}; }
};
struct ExpandBackward final : Node {
  Shape sizes;
  const char* own_name() const override { return "ExpandBackward"; }
  Gradients apply(Gradients&& g) override { return {sum_to(g[0], sizes)}; }
};
struct SelectBackward final : Node {
  SliceRef slice;
  const char* own_name() const override { return "SelectBackward"; }
  Gradients apply(Gradients&& g) override { return {scatter(g[0], slice)}; }
};
struct CloneBackward final : Node {
  const char* own_name() const override { return "CloneBackward"; }
  Gradients apply(Gradients&& g) override { return std::move(g); }
};

inline bool records(const Tensor& a) { return grad_enabled() && requires_grad(a); }
inline bool records(const Tensor& a, const Tensor& b) { return records(a) || records(b); }

inline Tensor add(const Tensor& a, const Tensor& b) {
  Tensor result = combine(a, b, [](double x, double y) { return x + y; });
  if (records(a, b)) {
    auto node = make_ref<AddBackward>();
    node->add_input(a);
    node->add_input(b);
    set_history(result, node);
  }
  if (has_tangent(a) || has_tangent(b)) {
    Tensor total = full(result.sizes(), 0);
    if (has_tangent(a)) total = add(total, tangent(a));
    if (has_tangent(b)) total = add(total, tangent(b));
    set_tangent(result, total);
  }
  return result;
}

inline Ref<MulBackward> mul_node(const Tensor& a, const Tensor& b) {
  auto node = make_ref<MulBackward>();
  node->add_input(a);
  node->add_input(b);
  if (node->wants(0)) node->other = SavedTensor(b, "other");
  if (node->wants(1)) node->self = SavedTensor(a, "self");
  return node;
}
inline Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor result = combine(a, b, [](double x, double y) { return x * y; });
  if (records(a, b)) set_history(result, mul_node(a, b));
  if (has_tangent(a) || has_tangent(b)) {
    Tensor total = full(result.sizes(), 0);
    if (has_tangent(a)) total = add(total, mul(tangent(a), b));
    if (has_tangent(b)) total = add(total, mul(a, tangent(b)));
    set_tangent(result, total);
  }
  return result;
}

inline Tensor exp(const Tensor& a) {
  Tensor result = combine(a, scalar(0), [](double x, double) { return std::exp(x); });
  if (records(a)) {
    auto node = make_ref<ExpBackward>();
    node->add_input(a);
    set_history(result, node);
    node->result = SavedTensor(result, "result", true);
  }
  return result;
}

inline Tensor expand(const Tensor& a, IntList sizes) {
  Shape strides(sizes.size(), 0);
  const size_t skip = sizes.size() - a.sizes().size();
  for (size_t i = 0; i < a.sizes().size(); ++i) {
    strides[skip + i] = a.sizes()[i] == 1 ? 0 : a.strides()[i];
  }
  Tensor result = make_view(a, sizes, strides, a.offset());
  if (records(a)) {
    auto node = make_ref<ExpandBackward>();
    node->sizes = a.sizes();
    node->add_input(a);
    set_history(result, node);
  }
  set_view(result, a);
  return result;
}

inline Tensor sum_to(const Tensor& a, IntList sizes) {
  const Tensor result = full(sizes, 0);
  const Tensor spread = expand(result, a.sizes());
  const Tensor source = contiguous_data(a);
  // Walk all indices; `spread` maps each to the element it adds to.
  Shape index(a.sizes().size(), 0);
  for (int64_t i = 0; i < a.numel(); ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * spread.strides()[d];
    result.data<double>()[offset] += source.data<double>()[i];
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < a.sizes()[d]) break;
      index[d] = 0;
    }
  }
  if (records(a)) {
    auto node = make_ref<SumToBackward>();
    node->sizes = a.sizes();
    node->add_input(a);
    set_history(result, node);
  }
  return result;
}
inline Tensor sum(const Tensor& a) { return sum_to(a, Shape{}); }

inline Tensor select(const Tensor& a, int64_t i) {
  Shape sizes = a.sizes(), strides = a.strides();
  const int64_t offset = a.offset() + i * strides[0];
  sizes.erase(0);
  strides.erase(0);
  Tensor result = make_view(a, sizes, strides, offset);
  if (records(a)) {
    auto node = make_ref<SelectBackward>();
    node->slice = slice_of(result, a);
    node->add_input(a);
    set_history(result, node);
  }
  set_view(result, a);
  return result;
}

inline Tensor clone(const Tensor& a) {
  Tensor result = empty(a.sizes(), a.dtype());
  copy_data(result, a);
  if (records(a)) {
    auto node = make_ref<CloneBackward>();
    node->add_input(a);
    set_history(result, node);
  }
  return result;
}

inline const Tensor& add_(const Tensor& a, const Tensor& b) {
  check_inplace(a, "add_", records(a, b));
  Ref<AddBackward> node;
  if (records(a, b)) {
    node = make_ref<AddBackward>();
    node->add_input(a);
    node->add_input(b);
  }
  copy_data(a, combine(a, b, [](double x, double y) { return x + y; }));
  a.bump_version();
  if (node) rebase_history(a, node);
  return a;
}
inline const Tensor& mul_(const Tensor& a, const Tensor& b) {
  check_inplace(a, "mul_", records(a, b));
  Ref<MulBackward> node;
  if (records(a, b)) {
    node = make_ref<MulBackward>();
    node->add_input(a);
    node->add_input(b);
    if (node->wants(0)) node->other = SavedTensor(b, "other");
    if (node->wants(1)) node->self = SavedTensor(clone(a), "self");
  }
  copy_data(a, combine(a, b, [](double x, double y) { return x * y; }));
  a.bump_version();
  if (node) rebase_history(a, node);
  return a;
}
inline const Tensor& exp_(const Tensor& a) {
  check_inplace(a, "exp_", records(a));
  Ref<ExpBackward> node;
  if (records(a)) {
    node = make_ref<ExpBackward>();
    node->add_input(a);
  }
  copy_data(a, combine(a, scalar(0), [](double x, double) { return std::exp(x); }));
  a.bump_version();
  if (node) {
    node->result = SavedTensor(a, "result", true);
    rebase_history(a, node);
  }
  return a;
}

inline void install_toy_operations() {
  Operations operations;
  operations.add = &add;
  operations.add_in_place = [](const Tensor& a, const Tensor& b) {
    copy_data(a, combine(a, b, [](double x, double y) { return x + y; }));
    a.bump_version();
  };
  operations.add_unasked = operations.add_in_place;
  operations.sum_to = &sum_to;
  operations.cast = &cast_data;
  operations.clone = &clone;
  operations.has_nan = [](const Tensor& a) {
    for (int64_t i = 0; i < a.numel(); ++i) {
      if (std::isnan(at(a, i))) return true;
    }
    return false;
  };
  install_operations(operations);
}

inline void backward(const Tensor& root, const BackwardOptions& options = {},
                     const Tensor& gradient = {}) {
  autograd::backward(TensorList(&root, 1), TensorList(&gradient, 1), {}, options);
}
inline std::vector<Tensor> gradients(const Tensor& root, std::vector<Tensor> inputs,
                                     BackwardOptions options = {}) {
  options.accumulate = false;
  Gradients result = autograd::backward(TensorList(&root, 1), {}, inputs, options);
  return {result.begin(), result.end()};
}

}  // namespace flambeau::testing
