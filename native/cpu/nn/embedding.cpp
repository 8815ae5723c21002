#include <algorithm>
#include <vector>

#include "core/threads/parallel.h"
#include "cpu/nn/conv_types.h"
#include "cpu/short_rows.h"

namespace flambeau::cpu {
namespace {

/// Looked-up rows, as dense int64.
class Lookups {
 public:
  Lookups(const Tensor& indices, int64_t rows, const char* op)
      : dense_(contiguous_data(cast_data(indices, DType::int64))),
        values_(dense_.data<int64_t>()),
        rows_(rows),
        op_(op) {}
  int64_t count() const { return dense_.numel(); }
  int64_t row(int64_t i) const {
    const int64_t row = values_[i];
    if (FLAMBEAU_UNLIKELY(static_cast<uint64_t>(row) >= static_cast<uint64_t>(rows_)))
      fail(ErrorKind::index, op_, ": argument input holds index ", row, " at position ", i,
           "; expected 0 <= index < ", rows_);
    return row;
  }
  /// All of them, when none is outside.
  const int64_t* checked() const {
    for (int64_t i = 0; i < count(); ++i) row(i);
    return values_;
  }

 private:
  Tensor dense_;
  const int64_t* values_;
  int64_t rows_;
  const char* op_;
};

/// The padding row counted from the front, or -1.
int64_t skipped_row(std::optional<int64_t> padding_idx, int64_t rows) {
  if (!padding_idx) return -1;
  return *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
}

/// How often each row is looked up; empty unless wanted.
std::vector<int64_t> count_rows(const Lookups& lookups, int64_t rows, bool wanted) {
  std::vector<int64_t> counts(wanted ? static_cast<size_t>(rows) : 0);
  if (wanted)
    for (int64_t i = 0; i < lookups.count(); ++i) ++counts[static_cast<size_t>(lookups.row(i))];
  return counts;
}

}  // namespace

void embedding_rows(const Tensor& result, const Tensor& input, const Tensor& weight,
                    std::optional<int64_t>, bool) {
  const Lookups lookups(input, weight.sizes()[0], "embedding");
  if (result.numel() == 0) {
    lookups.checked();
    return;
  }
  const Tensor table = contiguous_data(weight);
  const int64_t row = weight.sizes()[1] * static_cast<int64_t>(table.itemsize());
  const char* from = table.data<char>();
  char* to = result.data<char>();
  parallel_for(0, lookups.count(), std::max<int64_t>(1, kGrain * 4 / row),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   copy_row(to + i * row, from + lookups.row(i) * row, row);
               });
}

void embedding_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input, int64_t,
                    std::optional<int64_t> padding_idx, bool scale_grad_by_freq) {
  const int64_t rows = result.sizes()[0], width = result.sizes()[1];
  if (result.numel() == 0) return;
  const Lookups lookups(input, rows, "embedding_grad");
  const int64_t* const index = lookups.checked();
  const int64_t skipped = skipped_row(padding_idx, rows);
  const std::vector<int64_t> counts = count_rows(lookups, rows, scale_grad_by_freq);
  with_float_compute(
      "embedding_grad", result,
      [&](auto zero, const Tensor& out, const Tensor& grad) {
        using T = decltype(zero);
        // Each thread owns some rows of the table and adds to them in the order of the input, so
        // that sums do not depend on the number of threads.
        const int64_t work = result.numel() + grad.numel();
        const int64_t parts = std::min<int64_t>(num_threads(), work / kGrain + 1);
        parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
          const int64_t first = rows * begin / parts, last = rows * end / parts;
          std::fill_n(out.data<T>() + first * width, (last - first) * width, T(0));
          for (int64_t i = 0; i < lookups.count(); ++i) {
            if (index[i] < first || index[i] >= last || index[i] == skipped) continue;
            T* to = out.data<T>() + index[i] * width;
            const T* from = grad.data<T>() + i * width;
            if (scale_grad_by_freq) {
              const T count = static_cast<T>(counts[static_cast<size_t>(index[i])]);
#pragma omp simd
              for (int64_t j = 0; j < width; ++j) to[j] += from[j] / count;
            } else {
#pragma omp simd
              for (int64_t j = 0; j < width; ++j) to[j] += from[j];
            }
          }
        });
      },
      grad_output);
}

void embedding_grad_transposed(const Tensor& result, const Tensor& self, const Tensor& input,
                               std::optional<int64_t> padding_idx, bool scale_grad_by_freq) {
  const int64_t rows = self.sizes()[0], width = self.sizes()[1];
  if (result.numel() == 0) return;
  const Lookups lookups(input, rows, "embedding_grad_transposed");
  const int64_t* const index = lookups.checked();
  const int64_t skipped = skipped_row(padding_idx, rows);
  const std::vector<int64_t> counts = count_rows(lookups, rows, scale_grad_by_freq);
  with_float_compute(
      "embedding_grad_transposed", result,
      [&](auto zero, const Tensor& out, const Tensor& table) {
        using T = decltype(zero);
        for (int64_t i = 0; i < lookups.count(); ++i) {
          const T* from = table.data<T>() + index[i] * width;
          T* to = out.data<T>() + i * width;
          const T count =
              counts.empty() ? T(1) : static_cast<T>(counts[static_cast<size_t>(index[i])]);
          for (int64_t j = 0; j < width; ++j) to[j] = index[i] == skipped ? T(0) : from[j] / count;
        }
      },
      self);
}

}  // namespace flambeau::cpu
