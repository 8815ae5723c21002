#include <string_view>

#include "core/tensor/tensor.h"
#include "cpu/math.h"
#include "cpu/nn/exponentials.h"
#include "cpu/nn/targets.h"
#include "cpu/row_extrema.h"

#include "core/math/exponentials.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// True classes of rows, by what each loss is multiplied, and what their mean is divided by.
template <class C>
class TrueClasses {
 public:
  TrueClasses(const Tensor& target, const Tensor& weight, int64_t classes, int64_t ignored)
      : targets_(checked_targets(target, classes, ignored, "cross_entropy")),
        weights_(weight.defined() ? contiguous_data(cast_data(weight, dtype_of<C>)) : weight),
        ignored_(ignored) {}
  int64_t of(int64_t row) const { return targets_.data<int64_t>()[row]; }
  bool counts(int64_t row) const { return of(row) != ignored_; }
  C factor(int64_t row) const { return weights_.defined() ? weights_.data<C>()[of(row)] : C(1); }
  double total() const { return total_weight(targets_, weights_, ignored_); }

 private:
  Tensor targets_, weights_;
  int64_t ignored_;
};

template <class T>
void forward(const Tensor& result, const Tensor& norms, const Tensor& input, const Tensor& target,
             const Tensor& weight, int64_t ignored, std::string_view reduction) {
  using C = Compute<T>;
  const int64_t rows = input.sizes()[0], n = input.sizes()[1];
  const TrueClasses<C> classes(target, weight, n, ignored);
  const Tensor dense = contiguous_data(input), losses = empty(Shape{rows}, dtype_of<C>);
  C *const values = losses.data<C>(), *const norm = norms.data<C>();
  for_rows(rows, n, 8, [&](int64_t begin, int64_t end) {
    RowBuffer<T> buffer(n);
    for (int64_t r = begin; r < end; ++r) {
      const C* x = buffer.load(dense.data<T>() + r * n, n);
      const C largest = n > 0 ? row_max(x, n) : C(0);
      const C spread = math::log(sum_exponentials(x, n, largest));
      norm[2 * r] = largest;
      norm[2 * r + 1] = spread;
      values[r] =
          classes.counts(r) ? classes.factor(r) * ((largest - x[classes.of(r)]) + spread) : C(0);
    }
  });
  if (reduction == "none") return copy_data(result, losses);
  double sum = 0;
  for (int64_t r = 0; r < rows; ++r) sum += static_cast<double>(values[r]);
  // A mean over nothing is NaN.
  *result.data<T>() =
      static_cast<T>(static_cast<C>(reduction == "mean" ? sum / classes.total() : sum));
}

template <class T>
void backward(const Tensor& result, const Tensor& grad_output, const Tensor& input,
              const Tensor& target, const Tensor& weight, const Tensor& norms, int64_t ignored,
              std::string_view reduction) {
  using C = Compute<T>;
  const int64_t rows = input.sizes()[0], n = input.sizes()[1];
  const TrueClasses<C> classes(target, weight, n, ignored);
  const Tensor dense = contiguous_data(input), all_norms = contiguous_data(norms);
  const Tensor grads = contiguous_data(cast_data(grad_output, dtype_of<C>));
  const C *const norm = all_norms.data<C>(), *const grad = grads.data<C>();
  const C share = reduction == "mean" ? static_cast<C>(1 / classes.total()) : C(1);
  const int64_t step = reduction == "none" ? 1 : 0;
  T* const out = result.data<T>();
  for_rows(rows, n, 8, [&](int64_t begin, int64_t end) {
    RowBuffer<T> buffer(n), target_buffer(n);
    for (int64_t r = begin; r < end; ++r) {
      C* const y = target_buffer.target(out + r * n);
      if (classes.counts(r)) {
        const C* x = buffer.load(dense.data<T>() + r * n, n);
        const C largest = norm[2 * r], spread = norm[2 * r + 1];
        const C factor = classes.factor(r) * share * grad[r * step];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) y[i] = exponential((x[i] - largest) - spread) * factor;
        y[classes.of(r)] -= factor;
      } else {
        std::fill_n(y, n, C(0));
      }
      target_buffer.store(out + r * n, n);
    }
  });
}

}  // namespace

void cross_entropy_rows(const Tensor& result, const Tensor& norms, const Tensor& input,
                        const Tensor& target, const Tensor& weight, int64_t ignore_index,
                        std::string_view reduction) {
  with_floating(input.dtype(), "cross_entropy", [&]<class T>() {
    forward<T>(result, norms, input, target, weight, ignore_index, reduction);
  });
}
void cross_entropy_rows_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                             const Tensor& target, const Tensor& weight, const Tensor& norms,
                             int64_t ignore_index, std::string_view reduction) {
  with_floating(input.dtype(), "cross_entropy", [&]<class T>() {
    backward<T>(result, grad_output, input, target, weight, norms, ignore_index, reduction);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
