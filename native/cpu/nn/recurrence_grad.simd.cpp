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

/// Steps, from the last to the first. `hidden_grad` and `cell_grad` hold the gradients of the last
/// state, and then those of the first one.
template <class C, class Cell>
class Backward {
 public:
  Backward(const SequenceGrad<C>& sequence, const Steps& steps, const PackedWeights<C>& weights,
           int64_t samples)
      : s_(sequence), steps_(steps), weights_(weights) {
    for (auto& slopes : slopes_) slopes = working_memory<C>(samples * p_step_);
  }

  int64_t stages() const { return steps_.count() + 1; }

  /// The panels' hidden units: what the step computed before brings by its products, then the next.
  void run(int64_t stage, const SampleSet& set, int64_t begin, int64_t end) const {
    if (stage > 0) multiply(stage, set, begin, end);
    if (stage < steps_.count()) differentiate(stage, set, weights_.units(begin, end));
  }

 private:
  int64_t step_of(int64_t stage) const { return steps_.step(steps_.count() - 1 - stage); }

  void multiply(int64_t stage, const SampleSet& set, int64_t begin, int64_t end) const {
    const int64_t active = set.rows_below(steps_.size(step_of(stage - 1)));
    weights_.multiply(begin, end, active, slopes_[(stage - 1) % 2].get() + set.first * p_step_,
                      set.parts * p_step_, s_.hidden_grad + set.first * n_, set.parts * n_,
                      C(Cell::has_direct ? 1 : 0), nullptr);
  }

  void differentiate(int64_t stage, const SampleSet& set, Units units) const {
    const int64_t t = step_of(stage), active = set.rows_below(steps_.size(t));
    for (int64_t r = 0; r < active; ++r) {
      const int64_t sample = set.sample(r), place = steps_.place(t, sample);
      const int64_t before = steps_.place_before(t, sample);
      const C* kept = before < 0 ? nullptr : s_.keep + before * Cell::kept * n_;
      const C* h_before = kept ? kept + (Cell::kept - 1) * n_ : s_.first_hidden + sample * n_;
      const C* c_before = !s_.first_cell ? nullptr
                          : kept         ? kept + (Cell::kept - 2) * n_
                                         : s_.first_cell + sample * n_;
      C* const dh = s_.hidden_grad + sample * n_;
      C* const dp = slopes_[stage % 2].get() + sample * p_step_;
      const C* const given = s_.grad_output + place * n_;
#pragma omp simd
      for (int64_t j = units.begin; j < units.end; ++j) dh[j] += given[j];
      Cell::backward(n_, units, s_.keep + place * Cell::kept * n_, c_before, h_before, dh,
                     s_.cell_grad ? s_.cell_grad + sample * n_ : nullptr, s_.x_grad + place * wide_,
                     dp);
      if (!Cell::same_products)
        for (int64_t gate = 0; gate < wide_; gate += n_)
          std::copy(dp + gate + units.begin, dp + gate + units.end,
                    s_.products_grad + place * wide_ + gate + units.begin);
      std::copy(h_before + units.begin, h_before + units.end, s_.before + place * n_ + units.begin);
    }
  }

  const SequenceGrad<C>& s_;
  const Steps& steps_;
  const PackedWeights<C>& weights_;
  const int64_t n_ = s_.hidden_size, wide_ = Cell::gates * n_, p_step_ = spread(wide_);
  std::unique_ptr<C[]> slopes_[2];  // of the products of a step and of the one before, in turn
};

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
    const int64_t samples = h.sizes()[0];
    const Backward<C, Cell> backward(sequence, steps, weights, samples);
    run_stages(backward.stages(), samples, weights,
               [&](int64_t stage, const SampleSet& set, int64_t begin, int64_t end) {
                 backward.run(stage, set, begin, end);
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
