#include <algorithm>
#include <optional>
#include <string_view>

#include "core/base/assert.h"
#include "core/tensor/formula_rules.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/targets.h"

namespace flambeau::cpu {

Tensor checked_targets(const Tensor& target, int64_t classes, int64_t ignored, const char* op) {
  const Tensor dense = contiguous_data(cast_data(target, DType::int64));
  const int64_t* values = dense.data<int64_t>();
  for (int64_t i = 0; i < dense.numel(); ++i)
    check((values[i] >= 0 && values[i] < classes) || values[i] == ignored, ErrorKind::index, op,
          ": argument target holds class ", values[i], " at position ", i,
          "; expected 0 <= class < ", classes, " or ignore_index = ", ignored);
  return dense;
}

double total_weight(const Tensor& targets, const Tensor& weight, int64_t ignored) {
  const Tensor weights =
      weight.defined() ? contiguous_data(cast_data(weight, DType::float64)) : weight;
  const double* factors = weights.defined() ? weights.data<double>() : nullptr;
  const int64_t* classes = targets.data<int64_t>();
  double sum = 0;
  for (int64_t i = 0; i < targets.numel(); ++i)
    if (classes[i] != ignored) sum += factors ? factors[classes[i]] : 1;
  return sum;
}

namespace {

/// Log-probabilities [outer, classes, inner] and one class per (outer, inner).
struct NllGeometry {
  int64_t outer, classes, inner;
};

NllGeometry nll_geometry(IntList sizes) {
  if (sizes.size() == 1) return {1, sizes[0], 1};
  NllGeometry geometry{sizes[0], sizes[1], 1};
  for (const int64_t size : sizes.subspan(2)) geometry.inner *= size;
  return geometry;
}

/// Calls body(position in target, position of its log-probability, weight) unless ignored.
template <class T, class Body>
void for_each_target(const NllGeometry& geometry, const int64_t* target, const T* weight,
                     int64_t ignored, const Body& body) {
  for (int64_t n = 0; n < geometry.outer; ++n)
    for (int64_t i = 0; i < geometry.inner; ++i) {
      const int64_t at = n * geometry.inner + i, chosen = target[at];
      if (chosen == ignored) continue;
      FLAMBEAU_ASSERT(chosen >= 0 && chosen < geometry.classes);
      const T factor = weight ? weight[chosen] : T(1);
      body(at, (n * geometry.classes + chosen) * geometry.inner + i, factor);
    }
}

}  // namespace

void nll_loss(const Tensor& result, const Tensor& input, const Tensor& target, const Tensor& weight,
              std::optional<bool> size_average, int64_t ignore_index, std::optional<bool> reduce,
              std::string_view given_reduction) {
  const std::string_view reduction =
      shape_rules::reduction_of(given_reduction, size_average, reduce);
  const NllGeometry geometry = nll_geometry(input.sizes());
  const Tensor targets = checked_targets(target, geometry.classes, ignore_index, "nll_loss");
  with_float_compute(
      "nll_loss", result,
      [&](auto zero, const Tensor& out, const Tensor& x, const Tensor& w) {
        using T = decltype(zero);
        const T* weights = w.defined() ? w.data<T>() : nullptr;
        T* losses = out.data<T>();
        const T* values = x.data<T>();
        if (reduction == "none") {
          std::fill_n(losses, out.numel(), T(0));
          for_each_target(
              geometry, targets.data<int64_t>(), weights, ignore_index,
              [&](int64_t at, int64_t place, T factor) { losses[at] = -factor * values[place]; });
          return;
        }
        double sum = 0;
        for_each_target(geometry, targets.data<int64_t>(), weights, ignore_index,
                        [&](int64_t, int64_t place, T factor) {
                          sum -= static_cast<double>(factor) * values[place];
                        });
        // A mean over nothing is NaN.
        if (reduction == "mean") sum /= total_weight(targets, weight, ignore_index);
        *losses = static_cast<T>(sum);
      },
      input, weight);
}

void nll_loss_grad(const Tensor& result, const Tensor& grad_output, const Tensor& target,
                   const Tensor& weight, IntList input_size, int64_t ignore_index,
                   std::string_view reduction) {
  const NllGeometry geometry = nll_geometry(input_size);
  const Tensor targets = checked_targets(target, geometry.classes, ignore_index, "nll_loss_grad");
  with_float_compute(
      "nll_loss_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& w) {
        using T = decltype(zero);
        const T* weights = w.defined() ? w.data<T>() : nullptr;
        const T* g = grad.data<T>();
        T* values = out.data<T>();
        std::fill_n(values, out.numel(), T(0));
        T scale = 1;
        if (reduction == "mean")
          scale = static_cast<T>(1 / total_weight(targets, weight, ignore_index));
        const bool single = reduction != "none";
        for_each_target(geometry, targets.data<int64_t>(), weights, ignore_index,
                        [&](int64_t at, int64_t place, T factor) {
                          values[place] = -factor * scale * (single ? *g : g[at]);
                        });
      },
      grad_output, weight);
}

}  // namespace flambeau::cpu
