#include "core/threads/interrupt.h"
#include "cpu/linalg/gemm.h"
#include "cpu/nn/recurrence_parts.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class C>
struct SequenceGrad {
  const C *grad_output, *first_hidden, *first_cell, *keep;  // first_cell: or null
  C *x_grad, *hidden_grad, *cell_grad;                      // cell_grad: or null
  C *products_grad, *before;  // of each row: the gradient of its product, and the state in that
  int64_t hidden_size;
};

/// All steps of some samples, from the last to the first. `hidden_grad` and `cell_grad` hold the
/// gradients of the last state, and then those of the first one.
template <class C, class Cell>
void run_samples(const SampleSet& set, const Steps& steps, const PackedWeights<C>& weights,
                 const SequenceGrad<C>& s) {
  const int64_t n = s.hidden_size, wide = Cell::gates * n, rows = set.rows();
  const int64_t h_step = spread(n), p_step = spread(wide);
  const auto carried = working_memory<C>(rows * h_step), slopes = working_memory<C>(rows * p_step);
  const auto total = working_memory<C>(n);
  for (int64_t r = 0; r < rows; ++r)
    std::copy_n(s.hidden_grad + set.sample(r) * n, n, carried.get() + r * h_step);
  for (int64_t k = steps.count(); k-- > 0;) {
    const int64_t t = steps.step(k), active = set.rows_below(steps.size(t));
    if (active == 0) continue;
    check_interrupt();
    for (int64_t r = 0; r < active; ++r) {
      const int64_t sample = set.sample(r), place = steps.place(t, sample);
      const int64_t before = steps.place_before(t, sample);
      const C* kept = before < 0 ? nullptr : s.keep + before * Cell::kept * n;
      const C* h_before = kept ? kept + (Cell::kept - 1) * n : s.first_hidden + sample * n;
      const C* c_before = !s.first_cell ? nullptr
                          : kept        ? kept + (Cell::kept - 2) * n
                                        : s.first_cell + sample * n;
      C *carry = carried.get() + r * h_step, *dh = total.get(), *dp = slopes.get() + r * p_step;
      const C* given = s.grad_output + place * n;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) dh[j] = carry[j] + given[j];
      Cell::backward(n, s.keep + place * Cell::kept * n, c_before, h_before, dh,
                     s.cell_grad ? s.cell_grad + sample * n : nullptr, s.x_grad + place * wide, dp,
                     carry);
      if (!Cell::same_products) std::copy_n(dp, wide, s.products_grad + place * wide);
      std::copy_n(h_before, n, s.before + place * n);
    }
    weights.multiply(active, slopes.get(), p_step, carried.get(), h_step,
                     C(Cell::has_direct ? 1 : 0), nullptr, k % 2 == 1);
  }
  for (int64_t r = 0; r < rows; ++r)
    std::copy_n(carried.get() + r * h_step, n, s.hidden_grad + set.sample(r) * n);
}

template <class C>
void copy_into(const Tensor& to, const Tensor& from) {
  const Tensor dense = contiguous_data(from);
  std::copy_n(dense.data<C>(), dense.numel(), to.data<C>());
}

}  // namespace

void recurrence_grad(const Tensor& x_grad, const Tensor& h_grad, const Tensor& c_grad,
                     const Tensor& w_grad, const Tensor& b_grad, const Tensor& grad_output,
                     const Tensor& grad_hidden, const Tensor& grad_cell, const Tensor& h,
                     const Tensor& c, const Tensor& w, const Tensor& b, const Tensor& kept,
                     std::string_view mode, IntList batch_sizes, bool reverse) {
  const Steps steps(batch_sizes, reverse, h.sizes()[0], grad_output.sizes()[0]);
  const int64_t n = h.sizes()[1], total = grad_output.sizes()[0];
  const Tensor grads = contiguous_data(grad_output), weight = contiguous_data(w);
  const Tensor first_hidden = contiguous_data(h);
  const Tensor first_cell = c.defined() ? contiguous_data(c) : c, keep = contiguous_data(kept);
  with_cell(grad_output.dtype(), mode, [&]<class C, class Cell>() {
    const int64_t wide = Cell::gates * n;
    const Tensor products = Cell::same_products ? x_grad : empty(Shape{total, wide}, dtype_of<C>);
    const Tensor before = empty(Shape{total, n}, dtype_of<C>);
    copy_into<C>(h_grad, grad_hidden);
    if (c.defined()) copy_into<C>(c_grad, grad_cell);
    const SequenceGrad<C> sequence{grads.data<C>(),
                                   first_hidden.data<C>(),
                                   c.defined() ? first_cell.data<C>() : nullptr,
                                   keep.data<C>(),
                                   x_grad.data<C>(),
                                   h_grad.data<C>(),
                                   c.defined() ? c_grad.data<C>() : nullptr,
                                   products.data<C>(),
                                   before.data<C>(),
                                   n};
    const PackedWeights<C> weights({weight.data<C>(), n, 1}, wide, n);
    for_sample_sets(h.sizes()[0], total * wide * n, [&](const SampleSet& set) {
      run_samples<C, Cell>(set, steps, weights, sequence);
    });
    // One product for the weights of all steps.
    gemm<C>({wide,
             n,
             total,
             {products.data<C>(), 1, wide},
             {before.data<C>(), n, 1},
             w_grad.data<C>(),
             n});
    if (!b.defined()) return;
    const std::vector<C> ones(static_cast<size_t>(total), C(1));
    gemm<C>({1,
             wide,
             total,
             {ones.data(), total, 1},
             {products.data<C>(), wide, 1},
             b_grad.data<C>(),
             wide});
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
