#pragma once

#include <algorithm>
#include <array>
#include <numeric>

#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"
#include "core/tensor/views.h"
#include "core/threads/parallel.h"

/// Geometry shared by kernels that work along one dim or walk tensors with several sets of strides.
namespace flambeau::cpu {

/// Columns of a row that a thread takes at least: lines of cache are not shared.
inline constexpr int64_t kLeastColumns = 64;

/// The dims of a tensor, from the one whose neighbours are farthest in memory to the nearest.
class MemoryOrder {
 public:
  explicit MemoryOrder(const Tensor& tensor) : dims_(static_cast<size_t>(tensor.dim()), 0) {
    std::iota(dims_.begin(), dims_.end(), int64_t{0});
    std::stable_sort(dims_.begin(), dims_.end(), [&](int64_t a, int64_t b) {
      return tensor.strides()[static_cast<size_t>(a)] > tensor.strides()[static_cast<size_t>(b)];
    });
  }
  const int64_t* begin() const { return dims_.begin(); }
  const int64_t* end() const { return dims_.end(); }
  /// A view of a tensor of as many dims, with them in this order.
  Tensor turned(const Tensor& tensor) const {
    return make_view(tensor, views::permute(tensor, dims_));
  }
  /// Where a dim stands in it.
  Dim place_of(Dim dim) const {
    const int64_t place = std::find(begin(), end(), dim) - begin();
    return Dim(place, static_cast<int64_t>(dims_.size()), {"permute", "dim"});
  }

 private:
  Shape dims_;
};

/// A dense tensor seen from one dim: element (o, i, k) lies at (o * size + i) * inner + k.
struct DimBlocks {
  int64_t outer = 1, size = 1, inner = 1;
  /// One row.
  explicit DimBlocks(int64_t numel) : size(numel) {}
  DimBlocks(IntList sizes, Dim dim) {
    if (sizes.empty()) return;
    const size_t d = static_cast<size_t>(dim);
    FLAMBEAU_ASSERT(d < sizes.size());
    for (size_t i = 0; i < d; ++i) outer *= sizes[i];
    size = sizes[d];
    for (size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
  }
};

/// Walks the rows (all dims but the last) of a shape, keeping an element offset for each of K
/// operands. A 0-d shape is one row of one element.
template <int K>
class Rows {
 public:
  Rows(IntList sizes, const std::array<IntList, K>& strides) : sizes_(sizes) {
    if (sizes_.empty()) sizes_.push_back(1);
    for (int k = 0; k < K; ++k) {
      strides_[k] = Shape(strides[k]);
      if (strides_[k].empty()) strides_[k].push_back(1);
    }
    for (size_t d = 0; d + 1 < sizes_.size(); ++d) count_ *= sizes_[d];
  }
  int64_t count() const { return count_; }
  int64_t length() const { return sizes_[sizes_.size() - 1]; }
  /// Stride of operand k inside a row.
  int64_t step(int k) const { return strides_[k][strides_[k].size() - 1]; }

  /// Calls body(offsets) for rows [begin, end).
  template <class Body>
  void walk(int64_t begin, int64_t end, const Body& body) const {
    if (begin >= end) return;
    const size_t outer = sizes_.size() - 1;
    Shape index(outer, 0);
    std::array<int64_t, K> offset{};
    int64_t rest = begin;
    for (size_t d = outer; d-- > 0;) {
      index[d] = rest % sizes_[d];
      rest /= sizes_[d];
      for (int k = 0; k < K; ++k) offset[k] += index[d] * strides_[k][d];
    }
    for (int64_t row = begin; row < end; ++row) {
      body(offset);
      for (size_t d = outer; d-- > 0;) {
        for (int k = 0; k < K; ++k) offset[k] += strides_[k][d];
        if (++index[d] < sizes_[d]) break;
        for (int k = 0; k < K; ++k) offset[k] -= sizes_[d] * strides_[k][d];
        index[d] = 0;
      }
    }
  }

  /// The same over all rows, on several threads when there are many elements.
  template <class Body>
  void parallel(const Body& body, int64_t cost = 1) const {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, length() * cost));
    parallel_for(0, count_, grain, [&](int64_t begin, int64_t end) { walk(begin, end, body); });
  }

 private:
  Shape sizes_;
  std::array<Shape, K> strides_;
  int64_t count_ = 1;
};

/// A view of a tensor whose `dim` stands last: where rows_along's rows go.
inline Tensor view_with_dim_last(const Tensor& tensor, Dim dim) {
  if (tensor.dim() == 0) return tensor;
  Shape sizes = tensor.sizes(), strides = tensor.strides();
  const size_t d = static_cast<size_t>(dim);
  const int64_t size = sizes[d], stride = strides[d];
  sizes.erase(d);
  strides.erase(d);
  sizes.push_back(size);
  strides.push_back(stride);
  return make_view(tensor, sizes, strides, tensor.offset());
}

/// The same, dense: rows of that dim.
inline Tensor rows_along(const Tensor& tensor, Dim dim) {
  return contiguous_data(view_with_dim_last(tensor, dim));
}

/// An index tensor as dense int64.
inline Tensor dense_indices(const Tensor& index) {
  return contiguous_data(cast_data(index, DType::int64));
}

/// By value and out of line, so that loops keep their numbers in registers.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_index(int64_t value, int64_t size,
                                                              int64_t dim, const char* op,
                                                              ErrorKind kind) {
  fail(kind, op, "(): index ", value, " is out of bounds for dim ", dim, " of size ", size);
}

/// Error(kind) unless 0 <= value < size.
FLAMBEAU_INLINE void check_index(int64_t value, int64_t size, int64_t dim, const char* op,
                                 ErrorKind kind = ErrorKind::index) {
  if (FLAMBEAU_UNLIKELY(static_cast<uint64_t>(value) >= static_cast<uint64_t>(size)))
    fail_index(value, size, dim, op, kind);
}

/// The same for many, without a branch for each: a sign bit is set where an index is outside. The
/// loop that says which one is wrong runs only when there is one.
inline void check_indices(const int64_t* index, int64_t count, int64_t size, int64_t dim,
                          const char* op) {
  const uint64_t last = static_cast<uint64_t>(size - 1);
  uint64_t signs = 0;
#pragma omp simd reduction(| : signs)
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t word = static_cast<uint64_t>(index[i]);
    signs |= word | (last - word);
  }
  if (FLAMBEAU_LIKELY(signs >> 63 == 0)) return;
  for (int64_t i = 0; i < count; ++i) check_index(index[i], size, dim, op);
}

/// Calls body(i, index i) for indices that lie `step` apart; Error(runtime), as gather and scatter
/// raise it, at the first outside. In one pass: two would wait for memory twice.
template <class Body>
FLAMBEAU_INLINE void for_indices(const int64_t* index, int64_t step, int64_t count, int64_t size,
                                 int64_t dim, const char* op, const Body& body) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = index[i * step];
    check_index(at, size, dim, op, ErrorKind::runtime);
    body(i, at);
  }
}

/// check_index() with negative values counted from the end; returns the index from the front.
inline int64_t wrap_index(int64_t value, int64_t size, int64_t dim, const char* op) {
  if (FLAMBEAU_UNLIKELY(value < -size || value >= size))
    fail_index(value, size, dim, op, ErrorKind::index);
  return value < 0 ? value + size : value;
}

}  // namespace flambeau::cpu
