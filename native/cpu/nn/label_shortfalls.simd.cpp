#include <vector>

#include "core/threads/parallel.h"
#include "cpu/blocks.h"
#include "cpu/nn/conv_types.h"
#include "kernels/margin.h"

/// Shortfalls of the margin 1 between the scores of right classes and those of all others, row by
/// row: pairs of classes are too many to be written down.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The right classes of a row: those before the first negative one.
class Row {
 public:
  Row(const int64_t* classes, int64_t count, const char* op)
      : is_other_(static_cast<size_t>(count), 1) {
    while (count_ < count && classes[count_] >= 0) {
      check_index(classes[count_], count, 1, op, ErrorKind::runtime);
      is_other_[static_cast<size_t>(classes[count_++])] = 0;
    }
    right_ = classes;
  }
  /// Calls body(class) for each right class, also for one that occurs before.
  template <class Body>
  void each(const Body& body) const {
    for (int64_t k = 0; k < count_; ++k) body(right_[k]);
  }
  /// For each class, 1 where it is not right.
  const int32_t* others() const { return is_other_.data(); }

 private:
  const int64_t* right_ = nullptr;
  int64_t count_ = 0;
  std::vector<int32_t> is_other_;
};

template <class T>
T sum_shortfalls(const Row& row, const T* scores, int64_t count) {
  const int32_t* const others = row.others();
  T total = 0;
  row.each([&](int64_t right) {
    const T own = scores[right];
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i) {
      const T missing = 1 - (own - scores[i]);
      sum += (others[i] == 0) | (missing <= 0) ? T(0) : missing;
    }
    total += sum;
  });
  return total;
}

template <class T>
void add_slopes(const Row& row, const T* scores, int64_t count, T speed, T* slopes) {
  const int32_t* const others = row.others();
  row.each([&](int64_t right) {
    const T own = scores[right];
    int64_t missing_ones = 0;
#pragma omp simd reduction(+ : missing_ones)
    for (int64_t i = 0; i < count; ++i) {
      const bool counts = (others[i] != 0) & !(1 - (own - scores[i]) <= 0);
      slopes[i] += counts ? speed : T(0);
      missing_ones += counts;
    }
    slopes[right] -= speed * static_cast<T>(missing_ones);
  });
}

/// Calls body(n, row) for each row, on several threads.
template <class Body>
void over_rows(const Tensor& classes, const Body& body) {
  const Tensor dense = contiguous_data(classes);
  const int64_t count = dense.sizes()[1];
  parallel_for(0, dense.sizes()[0], std::max<int64_t>(1, kGrain / (4 * count + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t n = begin; n < end; ++n)
                   body(n, Row(dense.data<int64_t>() + n * count, count, "multilabel_margin_loss"));
               });
}

}  // namespace

void label_shortfalls(const Tensor& result, const Tensor& scores, const Tensor& classes) {
  const int64_t count = scores.sizes()[1];
  with_float_compute(
      "label_shortfalls", result,
      [&](auto zero, const Tensor& out, const Tensor& given) {
        using T = decltype(zero);
        over_rows(classes, [&](int64_t n, const Row& row) {
          out.data<T>()[n] = sum_shortfalls(row, given.data<T>() + n * count, count);
        });
      },
      scores);
}

void label_shortfall_slopes(const Tensor& result, const Tensor& grad_output, const Tensor& scores,
                            const Tensor& classes) {
  const int64_t count = scores.sizes()[1];
  with_float_compute(
      "label_shortfall_slopes", result,
      [&](auto zero, const Tensor& out, const Tensor& grad, const Tensor& given) {
        using T = decltype(zero);
        over_rows(classes, [&](int64_t n, const Row& row) {
          T* const slopes = out.data<T>() + n * count;
          std::fill_n(slopes, count, T(0));
          add_slopes(row, given.data<T>() + n * count, count, grad.data<T>()[n], slopes);
        });
      },
      grad_output, scores);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
