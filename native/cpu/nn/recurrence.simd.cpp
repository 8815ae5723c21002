#include "core/threads/interrupt.h"
#include "cpu/nn/recurrence_parts.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class C>
struct Sequence {
  const C *x, *bias;
  C *output, *hidden, *cell, *keep;  // cell, keep: or null
  int64_t hidden_size;
};

/// All steps of some samples. `hidden` and `cell` hold the first state, and then the last one.
template <class C, class Cell>
void run_samples(const SampleSet& set, const Steps& steps, const PackedWeights<C>& weights,
                 const Sequence<C>& sequence) {
  const int64_t n = sequence.hidden_size, wide = Cell::gates * n;
  const int64_t h_step = spread(n), p_step = spread(wide), rows = set.rows();
  const auto state = working_memory<C>(rows * h_step), products = working_memory<C>(rows * p_step);
  const auto unkept = working_memory<C>(Cell::kept * n);
  for (int64_t r = 0; r < rows; ++r)
    std::copy_n(sequence.hidden + set.sample(r) * n, n, state.get() + r * h_step);
  for (int64_t k = 0; k < steps.count(); ++k) {
    const int64_t t = steps.step(k), active = set.rows_below(steps.size(t));
    if (active == 0) continue;
    check_interrupt();
    const auto inputs = [&](int64_t r) {
      return sequence.x + steps.place(t, set.sample(r)) * wide;
    };
    // Rows of x lie far apart and in no near cache: each comes while something else is computed.
    fetch_ahead(inputs(0), wide);
    weights.multiply(active, state.get(), h_step, products.get(), p_step, C(0), sequence.bias,
                     k % 2 == 1);
    for (int64_t r = 0; r < active; ++r) {
      const int64_t sample = set.sample(r), place = steps.place(t, sample);
      C* h = state.get() + r * h_step;
      if (r + 1 < active) fetch_ahead(inputs(r + 1), wide);
      Cell::forward(n, inputs(r), products.get() + r * p_step, h,
                    sequence.cell ? sequence.cell + sample * n : nullptr,
                    sequence.keep ? sequence.keep + place * Cell::kept * n : unkept.get());
      std::copy_n(h, n, sequence.output + place * n);
    }
  }
  for (int64_t r = 0; r < rows; ++r)
    std::copy_n(state.get() + r * h_step, n, sequence.hidden + set.sample(r) * n);
}

template <class C, class Cell>
void run(const Tensor& output, const Tensor& last_hidden, const Tensor& last_cell,
         const Tensor& kept, const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w,
         const Tensor& b, const Steps& steps, bool keep) {
  const int64_t n = h.sizes()[1], samples = h.sizes()[0];
  const Tensor inputs = contiguous_data(x), weight = contiguous_data(w), first = contiguous_data(h);
  const Tensor bias = b.defined() ? contiguous_data(b) : b;
  const Tensor cell = c.defined() ? contiguous_data(c) : c;
  const Sequence<C> sequence{inputs.data<C>(),
                             b.defined() ? bias.data<C>() : nullptr,
                             output.data<C>(),
                             last_hidden.data<C>(),
                             c.defined() ? last_cell.data<C>() : nullptr,
                             keep ? kept.data<C>() : nullptr,
                             n};
  std::copy_n(first.data<C>(), first.numel(), sequence.hidden);
  if (sequence.cell) std::copy_n(cell.data<C>(), cell.numel(), sequence.cell);
  const PackedWeights<C> weights({weight.data<C>(), 1, n}, n, Cell::gates * n);
  for_sample_sets(samples, inputs.numel() * n, [&](const SampleSet& set) {
    run_samples<C, Cell>(set, steps, weights, sequence);
  });
}

}  // namespace

void recurrence(const Tensor& output, const Tensor& last_hidden, const Tensor& last_cell,
                const Tensor& kept, const Tensor& x, const Tensor& h, const Tensor& c,
                const Tensor& w, const Tensor& b, std::string_view mode, IntList batch_sizes,
                bool reverse, bool keep) {
  const Steps steps(batch_sizes, reverse, h.sizes()[0], x.sizes()[0]);
  with_cell(x.dtype(), mode, [&]<class C, class Cell>() {
    run<C, Cell>(output, last_hidden, last_cell, kept, x, h, c, w, b, steps, keep);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
