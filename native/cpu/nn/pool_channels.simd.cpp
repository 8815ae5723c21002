#include <limits>

#include "cpu/nn/pool_channels.h"
#include "cpu/transpose.h"

// Channels are handled a block of them at a time, whose results so far wait in the first-level
// cache; those of some windows of a row are written together, as in results the windows of a
// channel lie next to each other.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kChannels = 128, kWindows = 32;  // of a block
constexpr int64_t kShort = 64;                     // numbers whose plain sum is exact enough

/// Calls body(pixel, place in the plane) for each pixel of a window, row by row.
template <class T, class Body>
void over_pixels(const PoolGeometry& geometry, const ChannelImages& images, size_t row,
                 size_t column, const T* image, const Body& body) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  for (int64_t y = rows.begin[row]; y < rows.end[row]; y += rows.step)
    for (int64_t x = columns.begin[column]; x < columns.end[column]; x += columns.step)
      body(image + y * images.row_step + x * images.column_step,
           static_cast<int32_t>(y * geometry.input_columns + x));
}

/// Results of a block: the channels of the first window, of the next one.
template <class T>
struct Block {
  T values[kWindows][kChannels];
  int32_t places[kWindows][kChannels];
};

/// to[c * pitch + j] = from[j][c]
template <class T>
void write_values(const T (&from)[kWindows][kChannels], int64_t windows, int64_t channels, T* to,
                  int64_t pitch) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int64_t side = kBlock<Word>;
  const int64_t whole_windows = windows / side * side, whole_channels = channels / side * side;
  for (int64_t c = 0; c < whole_channels; c += side)
    for (int64_t j = 0; j < whole_windows; j += side)
      transpose_block(reinterpret_cast<Word*>(to + c * pitch + j), pitch,
                      reinterpret_cast<const Word*>(&from[j][c]), kChannels);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t j = c < whole_channels ? whole_windows : 0; j < windows; ++j)
      to[c * pitch + j] = from[j][c];
}

void write_places(const int32_t (&from)[kWindows][kChannels], int64_t windows, int64_t channels,
                  int64_t* to, int64_t pitch) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t j = 0; j < windows; ++j) to[c * pitch + j] = from[j][c];
}

/// Calls find(row, column, image, channels, values, places) for each block of channels of each
/// window of rows [begin, end), and writes what it found. Without `indices`, places are not.
template <class T, class Find>
void over_windows(const PoolGeometry& geometry, const ChannelImages& images, int64_t begin,
                  int64_t end, const T* input, T* result, int64_t* indices, const Find& find) {
  Block<T> block;
  const int64_t pitch = geometry.output_plane();
  for (int64_t line = begin; line < end; ++line) {
    const int64_t image = line / geometry.output_rows, row = line % geometry.output_rows;
    for (int64_t c = 0; c < images.channels; c += kChannels) {
      const int64_t channels = std::min(kChannels, images.channels - c);
      const T* const pixels = input + image * images.image_step + c;
      for (int64_t j = 0; j < geometry.output_columns; j += kWindows) {
        const int64_t windows = std::min(kWindows, geometry.output_columns - j);
        for (int64_t w = 0; w < windows; ++w)
          find(static_cast<size_t>(row), static_cast<size_t>(j + w), pixels, channels,
               block.values[w], block.places[w]);
        const int64_t place =
            (image * images.channels + c) * pitch + row * geometry.output_columns + j;
        write_values(block.values, windows, channels, result + place, pitch);
        if (indices) write_places(block.places, windows, channels, indices + place, pitch);
      }
    }
  }
}

template <class T>
void max(const PoolGeometry& geometry, const ChannelImages& images, int64_t begin, int64_t end,
         const T* input, T* result, int64_t* indices) {
  over_windows(
      geometry, images, begin, end, input, result, indices,
      [&](size_t row, size_t column, const T* image, int64_t count, T* largest, int32_t* found) {
        std::fill_n(largest, count, -std::numeric_limits<T>::infinity());
        std::fill_n(found, count, static_cast<int32_t>(kNoPlace));
        over_pixels(geometry, images, row, column, image, [&](const T* pixel, int32_t at) {
#pragma omp simd
          for (int64_t c = 0; c < count; ++c) {
            const T candidate = pixel[c], value = largest[c];
            const bool is_first = found[c] < 0;
            const bool better = (candidate > value) | (candidate != candidate) | is_first;
            largest[c] = better ? candidate : value;
            found[c] = better ? at : found[c];
          }
        });
      });
}

/// Sums of pixels, of kShort of them, of kShort times as many.
template <class T>
class LongSums {
 public:
  explicit LongSums(int64_t channels) : channels_(channels) {
    for (auto& level : sums_) std::fill_n(level, channels, T(0));
  }
  void add(const T* pixel) {
#pragma omp simd
    for (int64_t c = 0; c < channels_; ++c) sums_[0][c] += pixel[c];
    if (++pixels_ % kShort != 0) return;
    carry(0);
    if (pixels_ % (kShort * kShort) == 0) carry(1);
  }
  void result(T* sums) const {
#pragma omp simd
    for (int64_t c = 0; c < channels_; ++c) sums[c] = sums_[0][c] + sums_[1][c] + sums_[2][c];
  }

 private:
  void carry(int level) {
#pragma omp simd
    for (int64_t c = 0; c < channels_; ++c) {
      sums_[level + 1][c] += sums_[level][c];
      sums_[level][c] = 0;
    }
  }
  T sums_[3][kChannels];
  int64_t channels_, pixels_ = 0;
};

template <class T>
void average(const PoolGeometry& geometry, const ChannelImages& images, int64_t begin, int64_t end,
             const T* divisors, const T* input, T* result) {
  const PoolAxis &rows = geometry.rows, &columns = geometry.columns;
  over_windows(geometry, images, begin, end, input, result, nullptr,
               [&](size_t row, size_t column, const T* image, int64_t count, T* sums, int32_t*) {
                 const int64_t height = rows.end[row] - rows.begin[row];
                 if (height * (columns.end[column] - columns.begin[column]) <= kShort) {
                   std::fill_n(sums, count, T(0));
                   over_pixels(geometry, images, row, column, image, [&](const T* pixel, int32_t) {
#pragma omp simd
                     for (int64_t c = 0; c < count; ++c) sums[c] += pixel[c];
                   });
                 } else {
                   LongSums<T> longer(count);
                   over_pixels(geometry, images, row, column, image,
                               [&](const T* pixel, int32_t) { longer.add(pixel); });
                   longer.result(sums);
                 }
                 const T divisor =
                     divisors[row * static_cast<size_t>(geometry.output_columns) + column];
#pragma omp simd
                 for (int64_t c = 0; c < count; ++c) sums[c] /= divisor;
               });
}

}  // namespace

template <class T>
const ChannelPoolKernels<T>& channel_pool_kernels() {
  static constexpr ChannelPoolKernels<T> kernels{&max<T>, &average<T>};
  return kernels;
}
template const ChannelPoolKernels<float>& channel_pool_kernels();
template const ChannelPoolKernels<double>& channel_pool_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
