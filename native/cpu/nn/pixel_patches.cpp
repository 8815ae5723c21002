#include "cpu/nn/pixel_patches.h"

#include <algorithm>
#include <cstring>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/gemm.h"
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

/// Calls body(first row, last, patches) for parts of the rows of all results.
template <class T, class Body>
void over_patches(const ConvGeometry& g, const T* images, const Body& body) {
  const auto& [rows, columns] = g.axes;
  const int64_t depth = g.in_channels * g.kernel_size(), all = g.batch * rows.output;
  const int64_t row_bytes = columns.output * depth * static_cast<int64_t>(sizeof(T));
  const int64_t filters = depth * g.out_channels * static_cast<int64_t>(sizeof(T));
  const int64_t bytes = std::clamp(8 * filters, kLeastPatches, kMostPatches);
  const int64_t together = std::clamp<int64_t>(bytes / std::max<int64_t>(row_bytes, 1), 1, all);
  const Tensor patches = empty(Shape{together * columns.output * depth}, dtype_of<T>);
  for (int64_t row = 0; row < all; row += together) {
    check_interrupt();
    const int64_t last = std::min(row + together, all);
    fill_patches(g, images, row, last, patches.data<T>());
    body(row, last, patches.data<T>());
  }
}

/// Adds the columns of windows, [positions, taps, channels], to the elements that they meet.
template <class T>
void fold_patches(const ConvGeometry& g, const TapTable& rows, const TapTable& columns,
                  int64_t image, int64_t images, const T* patches, T* result) {
  const int64_t channels = g.in_channels, depth = channels * g.kernel_size();
  const int64_t width = g.axes[1].input, height = g.axes[0].input;
  const int64_t work = width * channels * g.kernel_size();
  parallel_for(0, images * height, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const size_t y = static_cast<size_t>(i % height);
                   const T* const mine = patches + i / height * g.output_plane() * depth;
                   for (int64_t x = 0; x < width; ++x) {
                     T* const to = result + ((image * height + i) * width + x) * channels;
                     std::fill_n(to, channels, T(0));
                     for (int64_t a = rows.begins[y]; a < rows.begins[y + 1]; ++a) {
                       const auto& row = rows.meetings[static_cast<size_t>(a)];
                       for (int64_t b = columns.begins[static_cast<size_t>(x)];
                            b < columns.begins[static_cast<size_t>(x) + 1]; ++b) {
                         const auto& column = columns.meetings[static_cast<size_t>(b)];
                         const T* const from =
                             mine + (row.place * g.axes[1].output + column.place) * depth +
                             (row.tap * g.axes[1].kernel + column.tap) * channels;
#pragma omp simd
                         for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
                       }
                     }
                   }
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
    T* const sums = sums_.data<T>();
    parallel_for(0, parts_ > 1 ? size : 0, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = 1; i < parts_; ++i) {
        const T* const from = sums + i * size;
#pragma omp simd
        for (int64_t j = begin; j < end; ++j) sums[j] += from[j];
      }
    });
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
  const int64_t depth = g.in_channels * g.kernel_size(), positions = g.output_plane();
  const int64_t bytes = positions * depth * static_cast<int64_t>(sizeof(T));
  const int64_t together =
      std::clamp<int64_t>(kMostPatches / std::max<int64_t>(bytes, 1), 1, g.batch);
  const Tensor patches = empty(Shape{together * positions * depth}, dtype_of<T>);
  const TapTable rows = windows_over(g.axes[0]), columns = windows_over(g.axes[1]);
  for (int64_t n = 0; n < g.batch; n += together) {
    check_interrupt();
    const int64_t images = std::min(together, g.batch - n);
    gemm<T>({images * positions,
             depth,
             g.out_channels,
             {grads + n * positions * g.out_channels, g.out_channels, 1},
             {weights, depth, 1},
             patches.data<T>(),
             depth});
    fold_patches(g, rows, columns, n, images, patches.data<T>(), result);
  }
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
