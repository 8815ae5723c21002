#include <algorithm>
#include <cstring>

#include "core/threads/parallel.h"
#include "cpu/blocks.h"
#include "cpu/short_rows.h"
#include "cpu/walk.h"
#include "kernels/padding.h"

/// Elements of one value around others: each row of the result is written once, in order.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// A dim: what is left of the tensor, and how many new elements stand around it. `step`: between
/// the tensor's elements.
struct FramedDim {
  int64_t before, kept, after, step;
  int64_t size() const { return before + kept + after; }
  bool is_bare() const { return before == 0 && after == 0; }
};

/// The dims in the order of the result's memory, the innermost first, merged.
struct Frame {
  int rank = 0;
  FramedDim dims[kMaxDims];

  /// `kept`: what is left of the tensor.
  Frame(const Tensor& result, const Tensor& kept, IntList pad) {
    const MemoryOrder order(result);
    const int64_t count = kept.dim();
    for (const int64_t* d = order.end(); d-- != order.begin();) {
      const size_t dim = static_cast<size_t>(*d), pair = 2 * static_cast<size_t>(count - 1 - *d);
      const bool given = pair < pad.size();
      add({given ? std::max<int64_t>(pad[pair], 0) : 0, kept.sizes()[dim],
           given ? std::max<int64_t>(pad[pair + 1], 0) : 0, kept.strides()[dim]});
    }
    while (rank < 2) dims[rank++] = {0, 1, 0, 1};
  }
  /// Whether the elements of a row of the tensor follow each other.
  bool is_by_rows() const { return dims[0].step == 1 || dims[0].kept == 1; }
  int64_t rows() const {
    int64_t count = 1;
    for (int d = 1; d < rank; ++d) count *= dims[d].size();
    return count;
  }

 private:
  void add(const FramedDim& dim) {
    if (dim.is_bare() && dim.kept == 1) return;
    if (rank > 0 && dims[rank - 1].is_bare() &&
        dim.step == dims[rank - 1].kept * dims[rank - 1].step) {
      const FramedDim inner = dims[rank - 1];
      dims[rank - 1] = {dim.before * inner.kept, dim.kept * inner.kept, dim.after * inner.kept,
                        inner.step};
      return;
    }
    dims[rank++] = dim;
  }
};

/// Rows that follow each other along the second dim, the first of them of the tensor at `from`.
template <class T>
void write_kept(const FramedDim& row, int64_t step, int64_t count, T value, const T* from, T* to) {
  constexpr int64_t kShort = 512 / static_cast<int64_t>(sizeof(T)), kAtOnce = 16;
  const int64_t length = row.size();
  if (row.kept >= kShort && row.step == 1) {
    for (int64_t i = 0; i < count; ++i, from += step, to += length) {
      fill_row(to, value, row.before);
      copy_row(to + row.before, from, row.kept);
      fill_row(to + row.before + row.kept, value, row.after);
    }
    return;
  }
  // What is new in short rows is less work in one go, with the rest.
  for (int64_t i = 0; i < count; i += kAtOnce) {
    const int64_t rows = std::min(kAtOnce, count - i);
    if (!row.is_bare()) fill_row(to, value, rows * length);
    T* kept = to + row.before;
    for (int64_t r = 0; r < rows; ++r, kept += length, from += step) {
      if (row.step == 1)
        copy_row(kept, from, row.kept);
      else
        for (int64_t j = 0; j < row.kept; ++j) kept[j] = from[j * row.step];
    }
    to += rows * length;
  }
}

/// Rows [begin, end) of the result.
template <class T>
void write_rows(const Frame& frame, int64_t begin, int64_t end, T value, const T* from, T* to) {
  const FramedDim &row = frame.dims[0], &lines = frame.dims[1];
  const int64_t length = row.size(), height = lines.size();
  int64_t index[kMaxDims] = {}, rest = begin / height, line = begin % height;
  for (int d = 2; d < frame.rank; rest /= frame.dims[d].size(), ++d)
    index[d] = rest % frame.dims[d].size();
  for (to += begin * length; begin < end; line = 0) {
    const T* source = from;
    bool is_new = false;
    for (int d = 2; d < frame.rank; ++d) {
      const int64_t at = index[d] - frame.dims[d].before;
      is_new |= at < 0 || at >= frame.dims[d].kept;
      source += at * frame.dims[d].step;
    }
    const int64_t last = std::min(height, line + end - begin);
    const int64_t first_kept = is_new ? last : std::clamp(lines.before, line, last);
    const int64_t last_kept = is_new ? last : std::clamp(lines.before + lines.kept, line, last);
    fill_row(to, value, (first_kept - line) * length);
    write_kept(row, lines.step, last_kept - first_kept, value,
               source + (first_kept - lines.before) * lines.step,
               to + (first_kept - line) * length);
    fill_row(to + (last_kept - line) * length, value, (last - last_kept) * length);
    to += (last - line) * length;
    begin += last - line;
    for (int d = 2; d < frame.rank && ++index[d] == frame.dims[d].size(); ++d) index[d] = 0;
  }
}

/// What negative amounts leave of a tensor.
Tensor what_is_kept(const Tensor& self, IntList pad) {
  Shape sizes(self.sizes());
  int64_t offset = self.offset();
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t dim = sizes.size() - 1 - i;
    const int64_t in_front = std::max<int64_t>(-pad[2 * i], 0);
    sizes[dim] -= in_front + std::max<int64_t>(-pad[2 * i + 1], 0);
    offset += in_front * self.strides()[dim];
  }
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  return make_view(self, sizes, self.strides(), is_empty ? self.offset() : offset);
}

/// Dense in the order of the result's memory.
Tensor in_order_of(const Tensor& result, const Tensor& self) {
  const MemoryOrder order(result);
  const Tensor copy = contiguous_data(order.turned(self));
  Shape back(order.end() - order.begin(), 0);
  int64_t place = 0;
  for (const int64_t dim : order) back[static_cast<size_t>(dim)] = place++;
  return make_view(copy, views::permute(copy, back));
}

}  // namespace

void constant_pad_nd(const Tensor& result, const Tensor& self, IntList pad, const Scalar& value) {
  if (result.numel() == 0) return;
  const Tensor kept = what_is_kept(self, pad);
  if (kept.numel() == 0) return fill_data(result, value);
  if (kept.sizes() == result.sizes()) return copy_data(result, kept);
  const Tensor one = empty(Shape{1}, result.dtype());
  fill_data(one, value);
  const Frame given(result, kept, pad);
  // Rows across memory are read as they are where the cache holds what lies between their elements.
  constexpr int64_t kNear = int64_t{1} << 14;
  const int64_t extent = given.dims[0].step * given.dims[0].kept;
  const bool has_steps = !given.is_by_rows() && extent * result.itemsize() > kNear;
  const Tensor source = has_steps ? in_order_of(result, kept) : kept;
  const Frame frame = has_steps ? Frame(result, source, pad) : given;
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const to = result.data<T>();
    const T* const from = source.data<T>();
    const T filler = *one.data<T>();
    const int64_t length = std::max<int64_t>(1, frame.dims[0].size());
    parallel_for(
        0, frame.rows(), std::max<int64_t>(1, kGrain / length),
        [&](int64_t begin, int64_t end) { write_rows(frame, begin, end, filler, from, to); });
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
