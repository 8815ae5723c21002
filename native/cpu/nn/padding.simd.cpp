#include <algorithm>
#include <array>
#include <vector>

#include "core/geometry/shape_rules.h"
#include "core/threads/parallel.h"
#include "cpu/channels_last.h"
#include "cpu/dtype_switch.h"
#include "cpu/short_rows.h"
#include "cpu/walk.h"
#include "kernels/padding.h"

/// Padding with elements of the tensor itself, all dims in one pass, and what adds them up again.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kDims = 3;

/// One dim: which element each of the padded one is. From `before` on, `middle` of them follow each
/// other, as they do in the tensor from `first` on.
struct PaddedDim {
  int64_t size = 1, before = 0, first = 0, middle = 1;
  std::vector<int64_t> place = {0};

  PaddedDim() = default;
  PaddedDim(int64_t length, int64_t in_front, int64_t behind, std::string_view mode)
      : size(length),
        before(std::max<int64_t>(in_front, 0)),
        first(std::max<int64_t>(-in_front, 0)),
        middle(std::max<int64_t>(std::min(size, size + behind) - first, 0)),
        place(static_cast<size_t>(std::max<int64_t>(size + in_front + behind, 0))) {
    const int64_t kept = std::max<int64_t>(middle, 1), last = size - 1;
    for (size_t i = 0; i < place.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i) - in_front;
      place[i] = mode == "replicate"  ? std::clamp<int64_t>(at, 0, std::max<int64_t>(last, 0))
                 : mode == "circular" ? first + shape_rules::floor_mod(at - first, kept)
                                      : last - std::abs(last - std::abs(at));
    }
  }
  int64_t padded() const { return static_cast<int64_t>(place.size()); }
};

/// Three dims, the last one first, of dense tensors that consist of such volumes. What stands at a
/// place is `unit` elements: one, or the channels of a pixel.
struct PaddedVolumes {
  std::array<PaddedDim, kDims> dims;
  int64_t unit;

  PaddedVolumes(IntList sizes, IntList pad, std::string_view mode, int64_t elements)
      : unit(elements) {
    const size_t rank = sizes.size(), pairs = std::min({pad.size() / 2, rank, size_t{kDims}});
    for (size_t i = 0; i < pairs; ++i)
      dims[i] = PaddedDim(sizes[rank - 1 - i], pad[2 * i], pad[2 * i + 1], mode);
    if (pairs == 0 && rank > 0) dims[0] = PaddedDim(sizes[rank - 1], 0, 0, mode);
  }
  int64_t row() const { return dims[0].size * unit; }
  int64_t padded_row() const { return dims[0].padded() * unit; }
  int64_t volume() const { return row() * dims[1].size * dims[2].size; }
  int64_t padded_rows() const { return dims[1].padded() * dims[2].padded(); }

  /// Calls body(padded row, row of the tensor) for padded rows [begin, end) of all volumes.
  template <class Body>
  void for_rows(int64_t begin, int64_t end, const Body& body) const {
    const auto &rows = dims[1], &layers = dims[2];
    int64_t r = begin % rows.padded(), l = begin / rows.padded() % layers.padded();
    int64_t volume = begin / padded_rows();
    for (int64_t row = begin; row < end; ++row) {
      const int64_t layer = volume * layers.size + layers.place[static_cast<size_t>(l)];
      body(row, layer * rows.size + rows.place[static_cast<size_t>(r)]);
      if (++r < rows.padded()) continue;
      r = 0;
      if (++l < layers.padded()) continue;
      l = 0;
      ++volume;
    }
  }
};

template <class T>
void pad_row(T* to, const T* from, const PaddedDim& dim) {
  const int64_t* const place = dim.place.data();
  for (int64_t i = 0; i < dim.before; ++i) to[i] = from[place[i]];
  if (dim.middle > 0) copy_row(to + dim.before, from + dim.first, dim.middle);
  for (int64_t i = dim.before + dim.middle; i < dim.padded(); ++i) to[i] = from[place[i]];
}

/// The same where `unit` elements stand at each place.
template <class T>
void pad_row(T* to, const T* from, const PaddedDim& dim, int64_t unit) {
  if (unit == 1) return pad_row(to, from, dim);
  const auto copy = [&](int64_t i) {
    copy_row(to + i * unit, from + dim.place[static_cast<size_t>(i)] * unit, unit);
  };
  for (int64_t i = 0; i < dim.before; ++i) copy(i);
  if (dim.middle > 0) copy_row(to + dim.before * unit, from + dim.first * unit, dim.middle * unit);
  for (int64_t i = dim.before + dim.middle; i < dim.padded(); ++i) copy(i);
}

/// Adds a padded row to the row that it was made of.
template <class C, class T>
void add_padded_row(C* to, const T* from, const PaddedDim& dim, int64_t unit) {
  const auto add = [&](int64_t target, int64_t source, int64_t count) {
    C* const sums = to + target * unit;
    const T* const terms = from + source * unit;
#pragma omp simd
    for (int64_t i = 0; i < count * unit; ++i) sums[i] += static_cast<C>(terms[i]);
  };
  const int64_t* const place = dim.place.data();
  for (int64_t i = 0; i < dim.before; ++i) add(place[i], i, 1);
  add(dim.first, dim.before, dim.middle);
  for (int64_t i = dim.before + dim.middle; i < dim.padded(); ++i) add(place[i], i, 1);
}

/// Volumes [begin, end) of the gradient; halves are added up as floats.
template <class T>
void add_volumes(T* to, const T* from, const PaddedVolumes& volumes, int64_t begin, int64_t end) {
  using C = Collected<T>;
  const int64_t size = volumes.volume(), rows = volumes.padded_rows();
  const int64_t length = volumes.row(), padded = volumes.padded_row();
  std::vector<C> sums(std::is_same_v<C, T> ? 0 : static_cast<size_t>(size));
  for (int64_t v = begin; v < end; ++v) {
    T* const target = to + v * size;
    C* sum;
    if constexpr (std::is_same_v<C, T>) {
      sum = target;
    } else {
      sum = sums.data();
    }
    std::fill_n(sum, size, C(0));
    volumes.for_rows(v * rows, (v + 1) * rows, [&](int64_t row, int64_t source) {
      add_padded_row(sum + source * length - v * size, from + row * padded, volumes.dims[0],
                     volumes.unit);
    });
    if constexpr (!std::is_same_v<C, T>) {
      for (int64_t i = 0; i < size; ++i) target[i] = T(sum[i]);
    }
  }
}

/// A result and what it is made of, both dense in one order of the dims; `unit` as of
/// PaddedVolumes, of `sizes` without channels where these vary fastest.
struct PaddedPair {
  Tensor result, source;
  Shape sizes;
  int64_t unit = 1;

  /// `whole`: the shape without padding.
  PaddedPair(const Tensor& to, const Tensor& from, IntList whole, IntList pad)
      : result(to), sizes(whole) {
    const bool is_by_channels = !to.is_contiguous() && pad.size() <= 2 * (whole.size() - 2);
    if (!is_by_channels) {
      if (!to.is_contiguous()) result = empty(to.sizes(), to.dtype());
      source = contiguous_data(from);
      return;
    }
    unit = whole[1];
    sizes.erase(1);
    source = dense_pixels(from);
  }
  void finish(const Tensor& to) const {
    if (!result.is_same(to)) copy_data(to, result);
  }
};

}  // namespace

void padded(const Tensor& result, const Tensor& self, IntList pad, std::string_view mode) {
  if (result.numel() == 0) return;
  const PaddedPair pair(result, self, self.sizes(), pad);
  const PaddedVolumes volumes(pair.sizes, pad, mode, pair.unit);
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const to = pair.result.data<T>();
    const T* const from = pair.source.data<T>();
    const int64_t length = volumes.padded_row(), grain = std::max<int64_t>(1, kGrain / length);
    parallel_for(0, result.numel() / length, grain, [&](int64_t begin, int64_t end) {
      volumes.for_rows(begin, end, [&](int64_t at, int64_t place) {
        pad_row(to + at * length, from + place * volumes.row(), volumes.dims[0], volumes.unit);
      });
    });
  });
  pair.finish(result);
}

void padded_grad(const Tensor& result, const Tensor& grad_output, IntList size, IntList pad,
                 std::string_view mode) {
  if (result.numel() == 0) return;
  if (grad_output.numel() == 0) return fill_data(result, 0);
  const PaddedPair pair(result, grad_output, size, pad);
  const PaddedVolumes volumes(pair.sizes, pad, mode, pair.unit);
  visit_dtype(result.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, Boolean>) {
      fail(ErrorKind::runtime, "pad: no gradient of dtype ", result.dtype());
    } else {
      const int64_t count = result.numel() / volumes.volume();
      const int64_t work = volumes.padded_rows() * volumes.padded_row();
      parallel_for(0, count, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work)),
                   [&](int64_t begin, int64_t end) {
                     add_volumes(pair.result.data<T>(), pair.source.data<T>(), volumes, begin, end);
                   });
    }
  });
  pair.finish(result);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
