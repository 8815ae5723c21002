#include <cmath>
#include <limits>
#include <vector>

#include "core/threads/parallel.h"
#include "cpu/nn/conv_types.h"
#include "kernels/ctc.h"

/// Connectionist temporal classification (A. Graves et al., 2006). An alignment is a walk over the
/// states of a sample: its labels, with blanks before, between and behind them. Probabilities of
/// walks are held as logarithms.
namespace flambeau::cpu {
namespace {

template <class T>
inline constexpr T kImpossible = -std::numeric_limits<T>::infinity();

/// The logarithm of a probability, and how it changes along a direction.
template <class T>
struct Moving {
  T value;
  T slope;

  Moving(T value, T slope = 0) : value(value), slope(slope) {}
  Moving operator+(Moving other) const { return {value + other.value, slope + other.slope}; }
  Moving operator-(Moving other) const { return {value - other.value, slope - other.slope}; }
  bool operator<(Moving other) const { return value < other.value; }
  bool operator==(Moving other) const { return value == other.value; }
};

/// large + log(1 + share), where share is that of the smaller one in the larger one.
template <class T>
T raised(T large, T small) {
  return large + std::log1p(std::exp(small - large));
}
template <class T>
Moving<T> raised(Moving<T> large, Moving<T> small) {
  const T share = std::exp(small.value - large.value);
  return {large.value + std::log1p(share), (large.slope + share * small.slope) / (1 + share)};
}
template <class Log>
Log log_sum(Log a, Log b, Log impossible) {
  if (a < b) std::swap(a, b);
  return b == impossible ? a : raised(a, b);
}

struct Sample {
  int64_t number;
  const int64_t* labels;
  int64_t length;
  int64_t steps;
  int64_t blank;

  int64_t states() const { return 2 * length + 1; }
  int64_t label(int64_t state) const { return state % 2 == 0 ? blank : labels[state / 2]; }
  /// A label may follow the one before at once, unless they are the same.
  bool skips(int64_t state) const { return state > 1 && label(state) != label(state - 2); }
};

/// Walks of one sample. `Score`: (step, class) -> Log.
template <class Log, class Score>
class Walks {
 public:
  Walks(const Sample& sample, const Score& score, Log impossible)
      : sample_(sample), score_(score), impossible_(impossible) {}

  /// Over all walks that end with the last step.
  Log total() const {
    if (sample_.steps == 0) return sample_.length == 0 ? Log(0) : impossible_;
    std::vector<Log> row = first(), next(row);
    for (int64_t t = 1; t < sample_.steps; ++t) {
      step(t, row, next);
      std::swap(row, next);
    }
    return ended(row);
  }

  /// body(step, class, share of the walks that are in a state of this class then), for each state.
  template <class Body>
  void visit(const Body& body) const {
    if (sample_.steps == 0) return;
    std::vector<std::vector<Log>> before{first()};
    for (int64_t t = 1; t < sample_.steps; ++t) {
      before.push_back(before.back());
      step(t, before[static_cast<size_t>(t) - 1], before.back());
    }
    const Log whole = ended(before.back());
    if (whole == impossible_) return;
    std::vector<Log> after(before[0].size(), impossible_), next(after);
    for (int64_t s = std::max<int64_t>(0, sample_.states() - 2); s < sample_.states(); ++s)
      after[static_cast<size_t>(s)] = Log(0);
    for (int64_t t = sample_.steps - 1;; --t) {
      for (int64_t s = 0; s < sample_.states(); ++s) {
        const auto at = static_cast<size_t>(s);
        body(t, sample_.label(s), before[static_cast<size_t>(t)][at] + after[at] - whole);
      }
      if (t == 0) return;
      step_back(t, after, next);
      std::swap(after, next);
    }
  }

 private:
  std::vector<Log> first() const {
    std::vector<Log> row(static_cast<size_t>(sample_.states()), impossible_);
    for (size_t s = 0; s < std::min<size_t>(2, row.size()); ++s)
      row[s] = score_(0, sample_.label(static_cast<int64_t>(s)));
    return row;
  }

  void step(int64_t t, const std::vector<Log>& row, std::vector<Log>& next) const {
    for (size_t s = 0; s < row.size(); ++s) {
      const auto state = static_cast<int64_t>(s);
      Log sum = row[s];
      if (s > 0) sum = log_sum(sum, row[s - 1], impossible_);
      if (sample_.skips(state)) sum = log_sum(sum, row[s - 2], impossible_);
      next[s] = sum + score_(t, sample_.label(state));
    }
  }

  /// From what follows step t to what follows the step before.
  void step_back(int64_t t, std::vector<Log>& row, std::vector<Log>& next) const {
    for (size_t s = 0; s < row.size(); ++s)
      row[s] = row[s] + score_(t, sample_.label(static_cast<int64_t>(s)));
    for (size_t s = 0; s < row.size(); ++s) {
      Log sum = row[s];
      if (s + 1 < row.size()) sum = log_sum(sum, row[s + 1], impossible_);
      if (s + 2 < row.size() && sample_.skips(static_cast<int64_t>(s) + 2))
        sum = log_sum(sum, row[s + 2], impossible_);
      next[s] = sum;
    }
  }

  Log ended(const std::vector<Log>& row) const {
    return row.size() == 1 ? row[0]
                           : log_sum(row[row.size() - 1], row[row.size() - 2], impossible_);
  }

  const Sample& sample_;
  const Score& score_;
  Log impossible_;
};

/// Labels and lengths, checked. Keeps the memory that samples point to.
class Batch {
 public:
  Batch(IntList sizes, const Tensor& targets, const Tensor& input_lengths,
        const Tensor& target_lengths, int64_t blank)
      : steps_(sizes[0]), classes_(sizes[2]), targets_(dense(targets)) {
    const Tensor steps = dense(input_lengths), lengths = dense(target_lengths);
    int64_t begin = 0;
    for (int64_t n = 0; n < sizes[1]; ++n) {
      const int64_t count = steps.data<int64_t>()[n], length = lengths.data<int64_t>()[n];
      check(count >= 0 && count <= steps_, ErrorKind::runtime,
            "ctc_loss(): input_lengths must be from 0 to ", steps_, ", got ", count);
      check(length >= 0, ErrorKind::runtime,
            "ctc_loss(): target_lengths must not be negative, got ", length);
      if (targets_.dim() == 2) begin = n * targets_.sizes()[1];
      const int64_t end = targets_.dim() == 2 ? begin + targets_.sizes()[1] : targets_.numel();
      check(length <= end - begin && end <= targets_.numel(), ErrorKind::runtime,
            "ctc_loss(): targets of shape ", ShapeText{targets_.sizes()}, " do not hold ", length,
            " labels of sample ", n);
      samples_.push_back({n, targets_.data<int64_t>() + begin, length, count, blank});
      check_labels(samples_.back());
      if (targets_.dim() == 1) begin += length;
    }
    check(targets_.dim() == 2 ? targets_.sizes()[0] == sizes[1] : begin == targets_.numel(),
          ErrorKind::runtime, "ctc_loss(): targets of shape ", ShapeText{targets_.sizes()},
          " do not fit ", sizes[1], " samples, whose target_lengths add up to ", total());
  }

  /// body(sample, score), several at a time; score(step, class) is an element of `log_probs`.
  template <class T, class Body>
  void each(const T* log_probs, const Body& body) const {
    const auto count = static_cast<int64_t>(samples_.size());
    parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        body(samples_[static_cast<size_t>(n)],
             [&](int64_t t, int64_t c) { return log_probs[place(t, n, c)]; });
    });
  }

  /// Where a class at a step of a sample lies.
  int64_t place(int64_t t, int64_t n, int64_t c) const {
    return (t * static_cast<int64_t>(samples_.size()) + n) * classes_ + c;
  }

 private:
  static Tensor dense(const Tensor& integers) {
    return contiguous_data(cast_data(integers, DType::int64));
  }

  void check_labels(const Sample& sample) const {
    for (int64_t i = 0; i < sample.length; ++i)
      check(sample.labels[i] >= 0 && sample.labels[i] < classes_, ErrorKind::runtime,
            "ctc_loss(): targets must be from 0 to below ", classes_, ", got ", sample.labels[i]);
  }

  int64_t total() const {
    int64_t sum = 0;
    for (const Sample& sample : samples_) sum += sample.length;
    return sum;
  }

  int64_t steps_;
  int64_t classes_;
  Tensor targets_;
  std::vector<Sample> samples_;
};

}  // namespace

void ctc_alignments(const Tensor& result, const Tensor& log_probs, const Tensor& targets,
                    const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank) {
  const Batch batch(log_probs.sizes(), targets, input_lengths, target_lengths, blank);
  with_float_compute(
      "ctc_loss", result,
      [&](auto zero, const Tensor& out, const Tensor& x) {
        using T = decltype(zero);
        batch.each(x.data<T>(), [&](const Sample& sample, const auto& score) {
          out.data<T>()[sample.number] = -Walks(sample, score, kImpossible<T>).total();
        });
      },
      log_probs);
}

void ctc_alignments_grad(const Tensor& result, const Tensor& grad_output, const Tensor& log_probs,
                         const Tensor& targets, const Tensor& input_lengths,
                         const Tensor& target_lengths, int64_t blank) {
  const Batch batch(log_probs.sizes(), targets, input_lengths, target_lengths, blank);
  with_float_compute(
      "ctc_loss", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& x) {
        using T = decltype(zero);
        T* slopes = out.data<T>();
        std::fill_n(slopes, out.numel(), T(0));
        batch.each(x.data<T>(), [&](const Sample& sample, const auto& score) {
          const T factor = grad.data<T>()[sample.number];
          Walks(sample, score, kImpossible<T>).visit([&](int64_t t, int64_t c, T share) {
            slopes[batch.place(t, sample.number, c)] -= factor * std::exp(share);
          });
        });
      },
      grad_output, log_probs);
}

void ctc_alignments_curvature(const Tensor& result, const Tensor& grad_output,
                              const Tensor& direction, const Tensor& log_probs,
                              const Tensor& targets, const Tensor& input_lengths,
                              const Tensor& target_lengths, int64_t blank) {
  const Batch batch(log_probs.sizes(), targets, input_lengths, target_lengths, blank);
  with_float_compute(
      "ctc_loss", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& along, const Tensor& x) {
        using T = decltype(zero);
        T* changes = out.data<T>();
        std::fill_n(changes, out.numel(), T(0));
        batch.each(x.data<T>(), [&](const Sample& sample, const auto& score) {
          const T factor = grad.data<T>()[sample.number];
          const auto moving = [&](int64_t t, int64_t c) {
            return Moving<T>(score(t, c), along.data<T>()[batch.place(t, sample.number, c)]);
          };
          const Walks walks(sample, moving, Moving<T>(kImpossible<T>));
          walks.visit([&](int64_t t, int64_t c, Moving<T> share) {
            changes[batch.place(t, sample.number, c)] -=
                factor * std::exp(share.value) * share.slope;
          });
        });
      },
      grad_output, direction, log_probs);
}

}  // namespace flambeau::cpu
