#include <algorithm>
#include <vector>

#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"
#include "cpu/nn/conv_types.h"
#include "cpu/nn/taps_kernel.h"
#include "kernels/taps.h"

// Rows of the images are summed along their columns first, and kept as long as the rows of results
// that follow each other meet them.

namespace flambeau::cpu {
namespace {

/// Tables of `taps` places and weights for each of some points, [taps, points].
template <class T>
struct TapTables {
  int64_t taps, points;
  const int64_t* places;
  const T* weights;
};

/// Some lines of a result as they are made, in turns: which rows of an image they are of.
class KeptRows {
 public:
  KeptRows(int64_t rows, int64_t kept)
      : lines_(static_cast<size_t>(rows), -1), rows_(static_cast<size_t>(kept), -1) {}

  /// Sets lines[k] to where the row of places[k * step] is; make(row, line) where it is not kept.
  template <class Make>
  void find(const int64_t* places, int64_t step, int64_t* lines, const Make& make) {
    const auto taps = static_cast<int64_t>(rows_.size());
    used_.assign(rows_.size(), 0);
    for (int64_t k = 0; k < taps; ++k)
      if (const int64_t line = line_of(places[k * step]); line >= 0)
        used_[static_cast<size_t>(line)] = 1;
    size_t free = 0;
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t row = places[k * step];
      if (line_of(row) < 0) {
        while (used_[free]) ++free;
        if (rows_[free] >= 0) lines_[static_cast<size_t>(rows_[free])] = -1;
        rows_[free] = row;
        lines_[static_cast<size_t>(row)] = static_cast<int64_t>(free);
        make(row, static_cast<int64_t>(free++));
      }
      lines[k] = line_of(row);
    }
  }
  void forget() {
    for (int64_t& row : rows_)
      if (row >= 0) lines_[static_cast<size_t>(row)] = -1, row = -1;
  }

 private:
  int64_t line_of(int64_t row) const { return lines_[static_cast<size_t>(row)]; }
  std::vector<int64_t> lines_, rows_;  // of each row of the image, or -1; of each line
  std::vector<char> used_;
};

/// Rows [begin, end) of the results of all images, [images, rows, columns, inner].
template <class T>
void sum_rows(int64_t begin, int64_t end, int64_t height, int64_t width, int64_t inner,
              const TapTables<T>& rows, const TapTables<T>& columns, const T* input, T* result) {
  const TapKernels<T>& kernels = tap_kernels<T>();
  const int64_t line = columns.points * inner;
  T* const lines = scratch<T>(0, static_cast<size_t>(rows.taps * line));
  KeptRows kept(height, rows.taps);
  std::vector<int64_t> places(static_cast<size_t>(rows.taps));
  std::vector<T> weights(places.size());
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / rows.points, p = i % rows.points;
    if (p == 0) kept.forget();
    kept.find(rows.places + p, rows.points, places.data(), [&](int64_t row, int64_t to) {
      kernels.sums({1, 1, width, columns.points, columns.taps, inner}, 0, columns.points,
                   input + (image * height + row) * width * inner, columns.places, columns.weights,
                   lines + to * line);
    });
    for (int64_t k = 0; k < rows.taps; ++k)
      weights[static_cast<size_t>(k)] = rows.weights[k * rows.points + p];
    kernels.sums({1, 1, rows.taps, 1, rows.taps, line}, 0, 1, lines, places.data(), weights.data(),
                 result + i * line);
  }
}

}  // namespace

void tapped_twice(const Tensor& result, const Tensor& input, const Tensor& row_places,
                  const Tensor& row_weights, const Tensor& places, const Tensor& weights) {
  if (result.numel() == 0) return;
  const int64_t height = input.sizes()[1], width = input.sizes()[2], inner = input.sizes()[3];
  const Tensor down = checked_places(row_places, height, "tapped_twice");
  const Tensor along = checked_places(places, width, "tapped_twice");
  const int64_t high = down.sizes()[1], wide = along.sizes()[1];
  const int64_t work = wide * inner * (down.sizes()[0] + along.sizes()[0]) + 1;
  with_float_compute(
      "tapped_twice", result,
      [&](auto zero, const Tensor& out, const Tensor& x, const Tensor& v, const Tensor& w) {
        using T = decltype(zero);
        parallel_for(0, input.sizes()[0] * high, std::max<int64_t>(1, kGrain / work),
                     [&](int64_t begin, int64_t end) {
                       sum_rows<T>(begin, end, height, width, inner,
                                   {down.sizes()[0], high, down.data<int64_t>(), v.data<T>()},
                                   {along.sizes()[0], wide, along.data<int64_t>(), w.data<T>()},
                                   x.data<T>(), out.data<T>());
                     });
      },
      input, row_weights, weights);
}

}  // namespace flambeau::cpu
