#include "cpu/nn/pixel_patches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/gemm.h"
#include "cpu/nn/line_sums.h"
#include "cpu/nn/tap_table.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kLeastPatches = 1 << 19, kMostPatches = 1 << 23;  // bytes, at a time

/// Copies a line of a patch, which is often shorter than what a call of the C library pays for.
template <class T>
void copy_line(const T* from, int64_t count, T* to) {
  constexpr int64_t kLine = 32 / static_cast<int64_t>(sizeof(T)), kShort = 8 * kLine;
  if (count > kShort || count < kLine) {
    std::copy_n(from, count, to);
    return;
  }
  for (int64_t i = 0; i < count - kLine; i += kLine) std::memcpy(to + i, from + i, 32);
  std::memcpy(to + count - kLine, from + count - kLine, 32);
}

/// Rows of patches, [positions, taps, channels], of rows [first, last) of the results.
template <class T>
void fill_patches(const ConvGeometry& g, const T* images, int64_t first, int64_t last, T* patches) {
  const auto& [rows, columns] = g.axes;
  const int64_t channels = g.in_channels, line = columns.kernel * channels;
  const int64_t depth = rows.kernel * line;
  const bool adjoin = columns.dilation == 1;
  parallel_for(first, last, std::max<int64_t>(1, kGrain / (columns.output * depth + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const T* const image = images + row / rows.output * g.input_plane() * channels;
                   const int64_t top = row % rows.output * rows.stride - rows.padding;
                   for (int64_t j = 0; j < columns.output; ++j) {
                     T* to = patches + ((row - first) * columns.output + j) * depth;
                     const int64_t left = j * columns.stride - columns.padding;
                     const bool inside =
                         adjoin && left >= 0 && left + columns.kernel <= columns.input;
                     for (int64_t r = 0; r < rows.kernel; ++r, to += line) {
                       const int64_t y = top + r * rows.dilation;
                       if (y < 0 || y >= rows.input) {
                         std::fill_n(to, line, T(0));
                         continue;
                       }
                       const T* const from = image + y * columns.input * channels;
                       if (inside) {
                         copy_line(from + left * channels, line, to);
                         continue;
                       }
                       for (int64_t s = 0; s < columns.kernel; ++s) {
                         const int64_t x = left + s * columns.dilation;
                         if (x < 0 || x >= columns.input)
                           std::fill_n(to + s * channels, channels, T(0));
                         else
                           copy_line(from + x * channels, channels, to + s * channels);
                       }
                     }
                   }
                 }
               });
}

/// How many rows of results have patches at a time.
template <class T>
int64_t rows_together(const ConvGeometry& g) {
  const int64_t depth = g.in_channels * g.kernel_size(), size = sizeof(T);
  const int64_t bytes = std::clamp(8 * depth * g.out_channels * size, kLeastPatches, kMostPatches);
  return std::clamp<int64_t>(bytes / std::max<int64_t>(g.axes[1].output * depth * size, 1), 1,
                             g.batch * g.axes[0].output);
}

/// Calls body(first row, last, patches) for parts of the rows of all results.
template <class T, class Body>
void over_rows(const ConvGeometry& g, const Body& body) {
  const int64_t depth = g.in_channels * g.kernel_size(), all = g.batch * g.axes[0].output;
  const int64_t together = rows_together<T>(g);
  const Tensor patches = empty(Shape{together * g.axes[1].output * depth}, dtype_of<T>);
  for (int64_t row = 0; row < all; row += together) {
    check_interrupt();
    body(row, std::min(row + together, all), patches.data<T>());
  }
}

/// The same with the patches of images.
template <class T, class Body>
void over_patches(const ConvGeometry& g, const T* images, const Body& body) {
  over_rows<T>(g, [&](int64_t first, int64_t last, T* patches) {
    fill_patches(g, images, first, last, patches);
    body(first, last, patches);
  });
}

/// Adds a row of a filter's taps at all columns, [columns, taps, channels], `step` elements apart,
/// to the row of an image that they meet.
template <class T>
void add_row(const ConvAxis& columns, int64_t channels, const T* from, int64_t step, T* to) {
  // Windows [first, last) with taps [begin, end), which follow each other.
  const auto add = [&](int64_t first, int64_t last, int64_t begin, int64_t end) {
    if (first >= last || begin >= end) return;
    const int64_t place = first * columns.stride - columns.padding + begin * columns.dilation;
    FLAMBEAU_PICK(add_lines<T>)
    (last - first, (end - begin) * channels, from + first * step + begin * channels, step,
     to + place * channels, columns.stride * channels);
  };
  // The windows whose element at `place` of the first is in the image.
  const auto inside = [&](int64_t place) {
    const int64_t first = place >= 0 ? 0 : (columns.stride - 1 - place) / columns.stride;
    const int64_t after = columns.input - place;
    const int64_t last = after <= 0 ? 0 : (after + columns.stride - 1) / columns.stride;
    return std::pair(std::min(first, columns.output), std::min(last, columns.output));
  };
  if (columns.dilation > 1) {
    for (int64_t tap = 0; tap < columns.kernel; ++tap) {
      const auto [first, last] = inside(tap * columns.dilation - columns.padding);
      add(first, last, tap, tap + 1);
    }
    return;
  }
  const int64_t first = inside(-columns.padding).first;
  const int64_t last = std::max(first, inside(columns.kernel - 1 - columns.padding).second);
  const auto add_part = [&](int64_t window) {
    const int64_t place = window * columns.stride - columns.padding;
    add(window, window + 1, std::max<int64_t>(-place, 0),
        std::min(columns.kernel, columns.input - place));
  };
  for (int64_t window = 0; window < first; ++window) add_part(window);
  add(first, last, 0, columns.kernel);
  for (int64_t window = last; window < columns.output; ++window) add_part(window);
}

/// Adds the gradients of patches, of rows [first, last) of all results, to the rows of images that
/// they meet. Those that no earlier row meets begin with zeros. `over`: the windows over rows.
template <class T>
void fold_patches(const ConvGeometry& g, const TapTable& over, int64_t first, int64_t last,
                  const T* patches, T* result) {
  const auto& [rows, columns] = g.axes;
  const int64_t channels = g.in_channels, line = columns.kernel * channels;
  const int64_t depth = rows.kernel * line, width = columns.input * channels;
  // Row `place` of the image that a row of results is of.
  const auto in_image = [&](int64_t row, int64_t place) {
    return row / rows.output * rows.input + std::clamp<int64_t>(place, 0, rows.input);
  };
  // Where the windows of a row begin: rows of images from there to the next are not left out.
  const auto begin_of = [&](int64_t row) {
    const int64_t i = row % rows.output;
    return in_image(row, i == 0 ? 0 : i * rows.stride - rows.padding);
  };
  const int64_t reach =
      (last - 1) % rows.output * rows.stride - rows.padding + (rows.kernel - 1) * rows.dilation + 1;
  parallel_for(begin_of(first), std::max(begin_of(last), in_image(last - 1, reach)),
               std::max<int64_t>(1, kGrain / std::max<int64_t>(columns.output * depth, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const size_t y = static_cast<size_t>(row % rows.input);
                   const int64_t image = row / rows.input * rows.output;
                   const int64_t most = over.begins[y + 1];
                   int64_t m = over.begins[y];
                   T* const to = result + row * width;
                   const auto met = [&] {
                     return image + over.meetings[static_cast<size_t>(m)].place;
                   };
                   if (m == most || met() >= first) std::fill_n(to, width, T(0));
                   for (; m < most; ++m)
                     if (met() >= first && met() < last)
                       add_row(columns, channels,
                               patches + (met() - first) * columns.output * depth +
                                   over.meetings[static_cast<size_t>(m)].tap * line,
                               depth, to);
                 }
               });
}

/// The gradient of filters: sums over positions of products of patches and gradients. Where there
/// are many positions, threads share them, and have sums of their own.
template <class T>
class PatchProducts {
 public:
  explicit PatchProducts(const ConvGeometry& g)
      : g_(g),
        depth_(g.in_channels * g.kernel_size()),
        filters_(g.out_channels),
        by_filters_(depth_ >= filters_) {
    parts_ = has_many_positions(g) ? num_threads() : 1;
    sums_ = empty(Shape{parts_, depth_ * filters_}, dtype_of<T>);
  }

  void add(int64_t positions, const T* patches, const T* grads) {
    const MatrixView<T> rows{patches, depth_, 1}, others{grads, filters_, 1};
    // The factor with fewer lines is what is turned.
    const MatrixView<T>&a = by_filters_ ? others : rows, &b = by_filters_ ? rows : others;
    const auto call = [&](int64_t first, int64_t last, T* sums, bool adds) {
      return GemmCall<T>{std::min(depth_, filters_),
                         std::max(depth_, filters_),
                         last - first,
                         a.at(first, 0).transposed(),
                         b.at(first, 0),
                         sums,
                         std::max(depth_, filters_),
                         T(1),
                         T(adds ? 1 : 0)};
    };
    T* const sums = sums_.data<T>();
    if (parts_ == 1) {
      gemm<T>(call(0, positions, sums, has_begun_));
    } else {
      parallel_for(0, parts_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          T* const mine = sums + i * depth_ * filters_;
          const int64_t last = positions * (i + 1) / parts_;
          int64_t first = positions * i / parts_;
          gemm_kernels<T>().gemm(call(first, std::min(first + kPositions, last), mine, has_begun_));
          for (first += kPositions; first < last; first += kPositions)
            gemm_kernels<T>().gemm(call(first, std::min(first + kPositions, last), mine, true));
        }
      });
    }
    has_begun_ = true;
  }

  /// [filters, rows, columns, channels]
  Tensor sums() const {
    const int64_t size = depth_ * filters_, line = g_.axes[1].kernel * g_.in_channels;
    add_parts(parts_, size, sums_.data<T>());
    const int64_t filter = by_filters_ ? depth_ : 1, element = by_filters_ ? 1 : filters_;
    return make_view(sums_, Shape{filters_, g_.axes[0].kernel, g_.axes[1].kernel, g_.in_channels},
                     Shape{filter, line * element, g_.in_channels * element, element},
                     sums_.offset());
  }

 private:
  static constexpr int64_t kPositions = 512;
  const ConvGeometry& g_;
  int64_t depth_, filters_, parts_;
  bool by_filters_, has_begun_ = false;
  Tensor sums_;
};

}  // namespace

template <class T>
void convolve_patches(const ConvGeometry& g, const T* images, const T* weights, const T* bias,
                      T* result) {
  const int64_t depth = g.in_channels * g.kernel_size(), filters = g.out_channels;
  const auto multiply = [&](int64_t positions, const T* patches, T* to) {
    gemm<T>({positions,
             filters,
             depth,
             {patches, depth, 1},
             {weights, filters, 1},
             to,
             filters,
             GemmFactor<T>(1),
             GemmFactor<T>(0),
             bias});
  };
  if (is_pixel_product(g)) return multiply(g.batch * g.output_plane(), images, result);
  const int64_t columns = g.axes[1].output;
  over_patches(g, images, [&](int64_t first, int64_t last, const T* patches) {
    multiply((last - first) * columns, patches, result + first * columns * filters);
  });
}

template <class T>
void patches_input_grad(const ConvGeometry& g, const T* grads, const T* weights, T* result) {
  const int64_t depth = g.in_channels * g.kernel_size(), columns = g.axes[1].output;
  const TapTable over = windows_over(g.axes[0]);
  over_rows<T>(g, [&](int64_t first, int64_t last, T* patches) {
    gemm<T>({(last - first) * columns,
             depth,
             g.out_channels,
             {grads + first * columns * g.out_channels, g.out_channels, 1},
             {weights, depth, 1},
             patches,
             depth});
    fold_patches(g, over, first, last, patches, result);
  });
}

template <class T>
Tensor patches_weight_grad(const ConvGeometry& g, const T* images, const T* grads) {
  PatchProducts<T> products(g);
  const int64_t columns = g.axes[1].output;
  if (is_pixel_product(g))
    products.add(g.batch * g.output_plane(), images, grads);
  else
    over_patches(g, images, [&](int64_t first, int64_t last, const T* patches) {
      products.add((last - first) * columns, patches, grads + first * columns * g.out_channels);
    });
  return products.sums();
}

template void convolve_patches(const ConvGeometry&, const float16*, const float16*, const float16*,
                               float16*);
template void convolve_patches(const ConvGeometry&, const bfloat16*, const bfloat16*,
                               const bfloat16*, bfloat16*);
#define FLAMBEAU_PATCHES(T)                                                              \
  template void convolve_patches(const ConvGeometry&, const T*, const T*, const T*, T*); \
  template void patches_input_grad(const ConvGeometry&, const T*, const T*, T*);         \
  template Tensor patches_weight_grad(const ConvGeometry&, const T*, const T*);
FLAMBEAU_PATCHES(float)
FLAMBEAU_PATCHES(double)
#undef FLAMBEAU_PATCHES

}  // namespace flambeau::cpu
