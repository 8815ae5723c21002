#include <cstring>

#include "cpu/blocks.h"
#include "cpu/shape/kept_parts.h"
#include "cpu/walk.h"
#include "kernels/shape.h"

namespace flambeau::cpu {
namespace {

/// Copies columns [first(row), last(row)) of each row of matrices, zeros elsewhere. The result may
/// be what is copied.
template <class Range>
void copy_triangle(const Tensor& result, const Tensor& self, const Range& range) {
  if (result.numel() == 0) return;
  const int64_t height = result.size(-2), width = result.size(-1);
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const to = result.data<T>();
    if (const int64_t count = result.numel() / (height * width);
        count > 1 && KeptParts<T>::fits(height * width)) {
      const KeptParts<T> parts(height, width, [&](int64_t i, int64_t j) {
        const auto [begin, end] = range(i, width);
        return j >= begin && j < end;
      });
      if (!self.is_contiguous()) copy_data(result, self);
      return parts.take(count, self.is_contiguous() ? self.data<T>() : to, to);
    }
    const Rows<2> rows(result.sizes(), {IntList(result.strides()), IntList(self.strides())});
    const int64_t step = rows.step(1);
    const T* const from = self.data<T>();
    rows.parallel([&](const std::array<int64_t, 2>& at) {
      // The result is dense: its offset tells the row.
      const auto [begin, end] = range(at[0] / width % height, width);
      T* const row = to + at[0];
      const T* const source = from + at[1];
      memset(row, 0, static_cast<size_t>(begin) * sizeof(T));
      if (step == 1 && end > begin) {
        const auto bytes = static_cast<size_t>(end - begin) * sizeof(T);
        if (source != row) memcpy(row + begin, source + begin, bytes);
      } else {
        for (int64_t i = begin; i < end; ++i) row[i] = source[i * step];
      }
      memset(row + end, 0, static_cast<size_t>(width - end) * sizeof(T));
    });
  });
}

/// A diagonal further out parts a matrix as the one that is just outside of it.
int64_t within_matrix(const Tensor& self, int64_t diagonal) {
  return std::clamp(diagonal, -self.size(-2), self.size(-1));
}

}  // namespace

void tril(const Tensor& result, const Tensor& self, int64_t given) {
  const int64_t diagonal = within_matrix(self, given);
  copy_triangle(result, self, [=](int64_t row, int64_t width) {
    return std::pair<int64_t, int64_t>(0, std::clamp<int64_t>(row + diagonal + 1, 0, width));
  });
}

void triu(const Tensor& result, const Tensor& self, int64_t given) {
  const int64_t diagonal = within_matrix(self, given);
  copy_triangle(result, self, [=](int64_t row, int64_t width) {
    return std::pair<int64_t, int64_t>(std::clamp<int64_t>(row + diagonal, 0, width), width);
  });
}

}  // namespace flambeau::cpu
