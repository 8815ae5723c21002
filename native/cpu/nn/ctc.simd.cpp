#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/threads/parallel.h"
#include "cpu/math.h"
#include "cpu/nn/conv_types.h"
#include "kernels/ctc.h"

#include "core/math/exponentials.h"

/// Connectionist temporal classification (A. Graves et al., 2006). An alignment is a walk over the
/// states of a sample: its labels, with blanks before, between and behind them. Probabilities of
/// walks are held as logarithms, those of a step in a row, which runs in vectors.
namespace flambeau::cpu::FLAMBEAU_ISA {
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
  bool operator==(Moving other) const { return value == other.value; }
};

template <class T>
FLAMBEAU_INLINE T log_sum(T a, T b, T c) {
  const T largest = std::max(a, std::max(b, c));
  const T base = largest == kImpossible<T> ? T(0) : largest;
  const T sum = math::exp(a - base) + math::exp(b - base) + math::exp(c - base);
  // At least 1, but where all are impossible: vectors do not take the logarithm of 0 at once.
  return largest + math::log(std::max(sum, T(1)));
}
template <class T>
Moving<T> log_sum(Moving<T> a, Moving<T> b, Moving<T> c) {
  const T largest = std::max(a.value, std::max(b.value, c.value));
  if (largest == kImpossible<T>) return a;
  const T shares[] = {std::exp(a.value - largest), std::exp(b.value - largest),
                      std::exp(c.value - largest)};
  const T whole = shares[0] + shares[1] + shares[2];
  const T slope = shares[0] * a.slope + shares[1] * b.slope + shares[2] * c.slope;
  return {largest + std::log(whole), slope / whole};
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

/// Logarithms by state, a row for each of some steps, with two impossible ones before the first
/// state and behind the last. They stand in `memory`, which outlives them.
template <class Log>
class Rows {
 public:
  Rows(std::vector<Log>& memory, int64_t count, int64_t states, Log impossible)
      : step_(states + 4) {
    memory.assign(static_cast<size_t>(count * step_), impossible);
    items_ = memory.data();
  }
  Log* operator[](int64_t row) { return items_ + row * step_ + 2; }
  const Log* operator[](int64_t row) const { return items_ + row * step_ + 2; }

 private:
  int64_t step_;
  Log* items_;
};

/// What samples need one after another.
template <class Log>
struct Memory {
  std::vector<Log> rows, all_steps;
};

/// Walks of one sample. `Score`: (step, class) -> Log.
template <class Log, class Score>
class Walks {
 public:
  Walks(const Sample& sample, Score score, Log impossible, Memory<Log>& memory)
      : sample_(sample),
        score_(score),
        memory_(memory),
        impossible_(impossible),
        states_(sample.states()),
        width_((states_ + kVector - 1) / kVector * kVector),
        rows_(memory.rows, 4, width_, impossible) {
    for (int64_t s = 0; s < states_; ++s)
      if (sample.skips(s)) rows_[kBarriers][s] = Log(0);
  }

  /// To a step, from the one before, until the last one.
  void advance(int64_t t) {
    if (t >= sample_.steps) return;
    Log* const row = rows_[kOne + t % 2];
    t == 0 ? begin(row) : step(t, rows_[kOne + (t - 1) % 2], row);
  }
  /// Over all walks that end with the last step, which they have come to.
  Log total() const {
    if (sample_.steps == 0) return sample_.length == 0 ? Log(0) : impossible_;
    return ended(rows_[kOne + (sample_.steps - 1) % 2]);
  }

  /// body(step, shares): of each state, that of the walks which are in it then.
  template <class Body>
  void visit(const Body& body) {
    if (sample_.steps == 0) return;
    Rows<Log> before(memory_.all_steps, sample_.steps, width_, impossible_);
    begin(before[0]);
    for (int64_t t = 1; t < sample_.steps; ++t) step(t, before[t - 1], before[t]);
    const Log whole = ended(before[sample_.steps - 1]);
    if (whole == impossible_) return;
    Log *after = rows_[kOne], *next = rows_[kOther];
    for (int64_t s = std::max<int64_t>(0, states_ - 2); s < states_; ++s) after[s] = Log(0);
    for (int64_t t = sample_.steps - 1;; --t) {
      Log* const shares = before[t];
      const Log* const behind = after;
#pragma omp simd
      for (int64_t s = 0; s < width_; ++s) shares[s] = shares[s] + behind[s] - whole;
      body(t, shares);
      if (t == 0) return;
      step_back(t, after, next);
      std::swap(after, next);
    }
  }

 private:
  static constexpr int64_t kVector = std::max<int64_t>(1, 64 / static_cast<int64_t>(sizeof(Log)));
  /// Rows of barriers, 0 where a walk may skip the blank before a state, of the scores of a step,
  /// and two of logarithms.
  enum : int64_t { kBarriers, kScores, kOne, kOther };

  void begin(Log* row) const {
    for (int64_t s = 0; s < std::min<int64_t>(2, states_); ++s)
      row[s] = score_(0, sample_.label(s));
  }

  /// Of the classes of all states.
  const Log* scores(int64_t t) {
    Log* const found = rows_[kScores];
    const Log blank = score_(t, sample_.blank);
    for (int64_t s = 0; s < states_; s += 2) found[s] = blank;
    for (int64_t i = 0; i < sample_.length; ++i) found[2 * i + 1] = score_(t, sample_.labels[i]);
    return found;
  }

  void step(int64_t t, const Log* row, Log* next) {
    const Log *const barrier = rows_[kBarriers], *const score = scores(t);
#pragma omp simd
    for (int64_t s = 0; s < width_; ++s)
      next[s] = log_sum(row[s], row[s - 1], row[s - 2] + barrier[s]) + score[s];
  }

  /// From what follows step t to what follows the step before.
  void step_back(int64_t t, Log* row, Log* next) {
    const Log *const barrier = rows_[kBarriers], *const score = scores(t);
#pragma omp simd
    for (int64_t s = 0; s < width_; ++s) row[s] = row[s] + score[s];
#pragma omp simd
    for (int64_t s = 0; s < width_; ++s)
      next[s] = log_sum(row[s], row[s + 1], row[s + 2] + barrier[s + 2]);
  }

  Log ended(const Log* row) const {
    return log_sum(row[states_ - 1], row[states_ - 2], impossible_);
  }

  const Sample& sample_;
  Score score_;
  Memory<Log>& memory_;
  Log impossible_;
  int64_t states_, width_;  // rows are whole vectors: no walk comes to what is no state
  Rows<Log> rows_;
};

/// Labels and lengths, checked. Keeps the memory that samples point to.
class Batch {
 public:
  Batch(IntList sizes, const Tensor& targets, const Tensor& input_lengths,
        const Tensor& target_lengths, int64_t blank)
      : steps_(sizes[0]), classes_(sizes[2]), targets_(dense(targets)) {
    const Tensor steps = dense(input_lengths), lengths = dense(target_lengths);
    int64_t begin = 0;
    samples_.reserve(static_cast<size_t>(sizes[1]));
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

  /// body(sample, memory), on several threads.
  template <class Log, class Body>
  void each(const Body& body) const {
    each_few<Log>([&](std::span<const Sample> samples, std::span<Memory<Log>> memory) {
      for (const Sample& sample : samples) body(sample, memory[0]);
    });
  }
  /// body(samples, memory of each), on several threads.
  template <class Log, class Body>
  void each_few(const Body& body) const {
    constexpr int64_t kFew = 4;
    const auto count = static_cast<int64_t>(samples_.size());
    parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      std::array<Memory<Log>, kFew> memory;
      const auto first = samples_.begin();
      for (int64_t n = begin; n < end; n += kFew)
        body(std::span(first + n, first + std::min<int64_t>(n + kFew, end)), std::span(memory));
    });
  }

  /// body(sample, step) for all steps of all samples, those that do not count too.
  template <class Body>
  void each_step(const Body& body) const {
    const auto count = static_cast<int64_t>(samples_.size());
    const int64_t grain = std::max<int64_t>(1, kGrain / 4 / std::max<int64_t>(1, classes_));
    parallel_for(0, steps_ * count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        body(samples_[static_cast<size_t>(i % count)], i / count);
    });
  }

  int64_t classes() const { return classes_; }
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

/// `log_probs`, as they lie: few are read by walks, so that no copy is made in another order.
template <class T>
class Scores {
 public:
  explicit Scores(const Tensor& log_probs) : values_(cast_data(log_probs, dtype_of<T>)) {}

  /// (step, class) -> the element of a sample.
  auto of(const Sample& sample) const {
    const T* const first = row(sample, 0);
    return [first, by_step = values_.strides()[0], by_class = values_.strides()[2]](
               int64_t t, int64_t c) { return first[t * by_step + c * by_class]; };
  }

  /// The probabilities of classes at a step, times a factor; 0 at steps that do not count.
  void probabilities(T* to, const Sample& sample, int64_t t, int64_t classes, T factor) const {
    if (t >= sample.steps) {
      std::fill_n(to, classes, T(0));
      return;
    }
    const T* const from = row(sample, t);
    const int64_t by_class = values_.strides()[2];
    if (by_class != 1) {
      for (int64_t c = 0; c < classes; ++c) to[c] = factor * math::exp(from[c * by_class]);
      return;
    }
#pragma omp simd
    for (int64_t c = 0; c < classes; ++c) to[c] = factor * math::exp(from[c]);
  }

 private:
  const T* row(const Sample& sample, int64_t t) const {
    return values_.data<T>() + t * values_.strides()[0] + sample.number * values_.strides()[1];
  }

  Tensor values_;
};

}  // namespace

void ctc_alignments(const Tensor& result, const Tensor& log_probs, const Tensor& targets,
                    const Tensor& input_lengths, const Tensor& target_lengths, int64_t blank,
                    bool) {
  const Batch batch(log_probs.sizes(), targets, input_lengths, target_lengths, blank);
  with_float_compute("ctc_loss", result, [&](auto zero, const Tensor& out) {
    using T = decltype(zero);
    const Scores<T> scores(log_probs);
    batch.each_few<T>([&](std::span<const Sample> samples, std::span<Memory<T>> memory) {
      using Score = decltype(scores.of(samples[0]));
      std::vector<Walks<T, Score>> all;
      int64_t steps = 0;
      for (size_t i = 0; i < samples.size(); ++i) {
        all.emplace_back(samples[i], scores.of(samples[i]), kImpossible<T>, memory[i]);
        steps = std::max(steps, samples[i].steps);
      }
      // A step waits for the one before: those of several samples go on at once.
      for (int64_t t = 0; t < steps; ++t)
        for (auto& walks : all) walks.advance(t);
      for (size_t i = 0; i < all.size(); ++i) out.data<T>()[samples[i].number] = -all[i].total();
    });
  });
}

void ctc_alignments_grad(const Tensor& result, const Tensor& grad_output, const Tensor& log_probs,
                         const Tensor& targets, const Tensor& input_lengths,
                         const Tensor& target_lengths, int64_t blank, bool of_logits) {
  const Batch batch(log_probs.sizes(), targets, input_lengths, target_lengths, blank);
  with_float_compute(
      "ctc_loss", result,
      [&](auto zero, const Tensor& out, const Tensor& grad) {
        using T = decltype(zero);
        const Scores<T> scores(log_probs);
        T* const slopes = out.data<T>();
        const T* const factors = grad.data<T>();
        if (!of_logits) fill_data(out, 0);
        if (of_logits) {
          batch.each_step([&](const Sample& sample, int64_t t) {
            scores.probabilities(slopes + batch.place(t, sample.number, 0), sample, t,
                                 batch.classes(), factors[sample.number]);
          });
        }
        batch.each<T>([&](const Sample& sample, Memory<T>& memory) {
          const T factor = factors[sample.number];
          const auto score = scores.of(sample);
          Walks(sample, score, kImpossible<T>, memory).visit([&](int64_t t, T* shares) {
#pragma omp simd
            for (int64_t s = 0; s < sample.states(); ++s) shares[s] = math::exp(shares[s]);
            T* const slope = slopes + batch.place(t, sample.number, 0);
            for (int64_t s = 0; s < sample.states(); ++s)
              slope[sample.label(s)] -= factor * shares[s];
          });
        });
      },
      grad_output);
}

void ctc_alignments_curvature(const Tensor& result, const Tensor& grad_output,
                              const Tensor& direction, const Tensor& log_probs,
                              const Tensor& targets, const Tensor& input_lengths,
                              const Tensor& target_lengths, int64_t blank, bool of_logits) {
  const Batch batch(log_probs.sizes(), targets, input_lengths, target_lengths, blank);
  with_float_compute(
      "ctc_loss", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& along) {
        using T = decltype(zero);
        const Scores<T> scores(log_probs);
        T* const changes = out.data<T>();
        const T *const ways = along.data<T>(), *const factors = grad.data<T>();
        if (!of_logits) fill_data(out, 0);
        if (of_logits) {
          batch.each_step([&](const Sample& sample, int64_t t) {
            const int64_t at = batch.place(t, sample.number, 0);
            scores.probabilities(changes + at, sample, t, batch.classes(), factors[sample.number]);
            for (int64_t c = 0; c < batch.classes() && t < sample.steps; ++c)
              changes[at + c] *= ways[at + c];
          });
        }
        batch.each<Moving<T>>([&](const Sample& sample, Memory<Moving<T>>& memory) {
          const T factor = factors[sample.number];
          const auto score = scores.of(sample);
          const auto moving = [&](int64_t t, int64_t c) {
            return Moving<T>(score(t, c), ways[batch.place(t, sample.number, c)]);
          };
          Walks walks(sample, moving, Moving<T>(kImpossible<T>), memory);
          walks.visit([&](int64_t t, const Moving<T>* shares) {
            T* const change = changes + batch.place(t, sample.number, 0);
            for (int64_t s = 0; s < sample.states(); ++s)
              change[sample.label(s)] -= factor * std::exp(shares[s].value) * shares[s].slope;
          });
        });
      },
      grad_output, direction);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
