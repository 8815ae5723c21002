#include "cpu/nn/recurrence_parts.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class C>
struct Sequence {
  const C *x, *bias;
  C *output, *hidden, *cell, *keep;  // cell, keep: or null
  int64_t hidden_size;
};

/// Steps, one after the other. `hidden` and `cell` hold the first state, and then the last one.
template <class C, class Cell>
class Forward {
 public:
  Forward(const Sequence<C>& sequence, const Steps& steps, const PackedWeights<C>& weights,
          int64_t samples)
      : sequence_(sequence), steps_(steps), weights_(weights) {
    products_ = working_memory<C>(samples * p_step_);
    for (auto& state : states_) {
      state = working_memory<C>(samples * h_step_);
      for (int64_t i = 0; i < samples; ++i)
        std::copy_n(sequence.hidden + i * n_, n_, state.get() + i * h_step_);
    }
  }

  /// The panels' hidden units in step number k.
  void run(int64_t k, const SampleSet& set, int64_t begin, int64_t end) const {
    const int64_t t = steps_.step(k), active = set.rows_below(steps_.size(t));
    if (active == 0) return;
    const C* const before = states_[k % 2].get();
    C* const after = states_[(k + 1) % 2].get();
    weights_.multiply(begin, end, active, before + set.first * h_step_, set.parts * h_step_,
                      products_.get() + set.first * p_step_, set.parts * p_step_, C(0),
                      sequence_.bias);
    const Units units = weights_.units(begin, end);
    for (int64_t r = 0; r < active; ++r) {
      const int64_t sample = set.sample(r), place = steps_.place(t, sample);
      C* const h = after + sample * h_step_;
      const C* const x = sequence_.x + place * wide_;
      const C* const p = products_.get() + sample * p_step_;
      const C* const old = before + sample * h_step_;
      C* const cell = sequence_.cell ? sequence_.cell + sample * n_ : nullptr;
      if (sequence_.keep)
        Cell::template forward<true>(n_, units, x, p, old, h, cell,
                                     sequence_.keep + place * Cell::kept * n_);
      else
        Cell::template forward<false>(n_, units, x, p, old, h, cell, nullptr);
      const auto copy_to = [&](C* row) {
        std::copy(h + units.begin, h + units.end, row + units.begin);
      };
      copy_to(sequence_.output + place * n_);
      if (steps_.is_last(t, sample)) copy_to(sequence_.hidden + sample * n_);
    }
  }

 private:
  const Sequence<C>& sequence_;
  const Steps& steps_;
  const PackedWeights<C>& weights_;
  const int64_t n_ = sequence_.hidden_size, wide_ = Cell::gates * n_;
  const int64_t h_step_ = spread(n_), p_step_ = spread(wide_);
  std::unique_ptr<C[]> products_, states_[2];  // h before and after a step, in turn
};

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
  const PackedWeights<C> weights({weight.data<C>(), 1, n}, n, n, Cell::gates);
  const Forward<C, Cell> forward(sequence, steps, weights, samples);
  run_stages(steps.count(), samples, weights,
             [&](int64_t k, const SampleSet& set, int64_t begin, int64_t end) {
               forward.run(k, set, begin, end);
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
