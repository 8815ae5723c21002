#include "cpu/nn/pool_channels.h"

#include <vector>

#include "cpu/linalg/vector.h"

// A window of some channels is a few vectors, which stay in registers while its pixels pass by.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kShort = 64;  // numbers whose plain sum is exact enough

/// Numbers of `count` channels, and places of elements that are as wide as they are.
template <class T, int count>
struct Lanes {
  using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  static constexpr int kCount = count;
  typedef T Numbers __attribute__((vector_size(count * sizeof(T)), may_alias));
  typedef T Unaligned
      __attribute__((vector_size(count * sizeof(T)), aligned(alignof(T)), may_alias));
  typedef Place Places __attribute__((vector_size(count * sizeof(T)), may_alias));
  typedef int64_t Wide __attribute__((vector_size(count * 8), aligned(8), may_alias));
  static FLAMBEAU_INLINE Numbers load(const T* from) {
    return *reinterpret_cast<const Unaligned*>(from);
  }
  static FLAMBEAU_INLINE void store(T* to, Numbers x) { *reinterpret_cast<Unaligned*>(to) = x; }
  static FLAMBEAU_INLINE void store(int64_t* to, Places x) {
    *reinterpret_cast<Wide*>(to) = __builtin_convertvector(x, Wide);
  }
};
template <class T>
struct Lanes<T, 1> {
  using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  static constexpr int kCount = 1;
  using Numbers = T;
  using Places = Place;
  static FLAMBEAU_INLINE T load(const T* from) { return *from; }
  static FLAMBEAU_INLINE void store(T* to, T x) { *to = x; }
  static FLAMBEAU_INLINE void store(int64_t* to, Place x) { *to = x; }
};

/// Calls body(Lanes, number of vectors, first channel): together they cover all channels, some of
/// them twice.
template <class T, class Body>
FLAMBEAU_INLINE void in_lanes(int64_t channels, const Body& body) {
  constexpr int full = kLanes<T>, few = 16 / static_cast<int>(sizeof(T));
  const auto one = std::integral_constant<int, 1>();
  int64_t c = 0;
  for (; c + 4 * full <= channels; c += 4 * full)
    body(Lanes<T, full>(), std::integral_constant<int, 4>(), c);
  if (c + 2 * full <= channels) {
    body(Lanes<T, full>(), std::integral_constant<int, 2>(), c);
    c += 2 * full;
  }
  if (c + full <= channels) {
    body(Lanes<T, full>(), one, c);
    c += full;
  }
  if (c == channels) return;
  if (channels >= full) return body(Lanes<T, full>(), one, channels - full);
  for (; c + few <= channels; c += few) body(Lanes<T, few>(), one, c);
  if (c == channels) return;
  if (channels >= few) return body(Lanes<T, few>(), one, channels - few);
  for (; c < channels; ++c) body(Lanes<T, 1>(), one, c);
}

/// Calls body(pixel, place in the volume) for each pixel of a window, row by row.
template <class T, class Body>
FLAMBEAU_INLINE void over_pixels(const PoolGeometry& geometry, const ChannelImages& images,
                                 int64_t row, int64_t column, const T* image, const Body& body) {
  const PoolAxis &layers = geometry.layers, &rows = geometry.rows, &columns = geometry.columns;
  const size_t l = geometry.layer_of(row), i = geometry.row_of(row),
               j = static_cast<size_t>(column);
  const int64_t first = columns.begin[j], last = columns.end[j], step = columns.step;
  for (int64_t z = layers.begin[l]; z < layers.end[l]; z += layers.step)
    for (int64_t y = rows.begin[i]; y < rows.end[i]; y += rows.step) {
      const T* const line = image + z * images.layer_step + y * images.row_step;
      const int64_t place = (z * geometry.input_rows + y) * geometry.input_columns;
      for (int64_t x = first; x < last; x += step) body(line + x * images.column_step, place + x);
    }
}

/// The channels of a long window that are worked on later, but are fetched with the first ones:
/// pixels come from memory as wholes. `first`: channel, of so many that are worked on now.
inline int64_t channels_behind(const PoolGeometry& geometry, const ChannelImages& images,
                               int64_t column, int64_t first, int64_t count) {
  constexpr int64_t kLong = 64;  // pixels of a row of a window
  const size_t j = static_cast<size_t>(column);
  const bool is_long = geometry.columns.end[j] - geometry.columns.begin[j] >= kLong;
  return first == 0 && is_long ? images.channels - count : 0;
}

template <class T>
FLAMBEAU_INLINE void fetch_channels(const T* from, int64_t count, int64_t pixel_step) {
  constexpr int64_t kAhead = 4, kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t c = 0; c < count; c += kLine) __builtin_prefetch(from + kAhead * pixel_step + c);
}

/// Calls body(row of windows, column, image, place of the window's results) for all windows of rows
/// [begin, end) of all images.
template <class T, class Body>
void over_windows(const PoolGeometry& geometry, const ChannelImages& from, const ChannelImages& to,
                  int64_t begin, int64_t end, const T* input, const Body& body) {
  const int64_t rows = geometry.window_rows();
  for (int64_t line = begin; line < end; ++line) {
    const int64_t image = line / rows, row = line % rows;
    const int64_t out = image * to.image_step +
                        static_cast<int64_t>(geometry.layer_of(row)) * to.layer_step +
                        static_cast<int64_t>(geometry.row_of(row)) * to.row_step;
    for (int64_t j = 0; j < geometry.output_columns; ++j)
      body(row, j, input + image * from.image_step, out + j * to.column_step);
  }
}

/// x where it wins, else the largest so far: of equals the first, of NaN the last. Two choices by
/// one comparison each are quicker than one by both.
template <class L, class Choices>
FLAMBEAU_INLINE Choices winner(typename L::Numbers x, typename L::Numbers largest, Choices mine,
                               Choices so_far) {
  const Choices larger = x > largest ? mine : so_far;
  return x != x ? mine : larger;
}

template <class L, int n, class T>
FLAMBEAU_INLINE void largest_of_pixels(const PoolGeometry& geometry, const ChannelImages& images,
                                       int64_t row, int64_t column, const T* image, int64_t behind,
                                       T* result, int64_t* indices) {
  using Places = typename L::Places;
  const PoolAxis& columns = geometry.columns;
  const size_t j = static_cast<size_t>(column);
  const int64_t first =
      geometry.is_empty_row(row) || columns.is_empty(j)
          ? kNoPlace
          : geometry.first_row_under(row) * geometry.input_columns + columns.begin[j];
  typename L::Numbers largest[n];
  Places places[n];
  for (int k = 0; k < n; ++k) {
    largest[k] = no_element<T>() - typename L::Numbers{};
    places[k] = static_cast<typename L::Place>(first) + Places{};
  }
  over_pixels(geometry, images, row, column, image, [&](const T* pixel, int64_t at) {
    fetch_channels(pixel + n * L::kCount, behind, images.column_step);
    const Places place = static_cast<typename L::Place>(at) + Places{};
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) {
      const typename L::Numbers x = L::load(pixel + k * L::kCount);
      places[k] = winner<L>(x, largest[k], place, places[k]);
      largest[k] = winner<L>(x, largest[k], x, largest[k]);
    }
  });
  for (int k = 0; k < n; ++k) {
    L::store(result + k * L::kCount, largest[k]);
    L::store(indices + k * L::kCount, places[k]);
  }
}

/// The same without places.
template <class L, int n, class T>
FLAMBEAU_INLINE void largest_of_pixels(const PoolGeometry& geometry, const ChannelImages& images,
                                       int64_t row, int64_t column, const T* image, int64_t behind,
                                       T* result) {
  typename L::Numbers largest[n];
  for (int k = 0; k < n; ++k) largest[k] = no_element<T>() - typename L::Numbers{};
  over_pixels(geometry, images, row, column, image, [&](const T* pixel, int64_t) {
    fetch_channels(pixel + n * L::kCount, behind, images.column_step);
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) {
      const typename L::Numbers x = L::load(pixel + k * L::kCount);
      largest[k] = winner<L>(x, largest[k], x, largest[k]);
    }
  });
  for (int k = 0; k < n; ++k) L::store(result + k * L::kCount, largest[k]);
}

/// Sums of pixels, of kShort of them, of kShort times as many.
template <class L, int n, class T>
FLAMBEAU_INLINE void average_of_pixels(const PoolGeometry& geometry, const ChannelImages& images,
                                       int64_t row, int64_t column, const T* image, int64_t behind,
                                       T divisor, T* result) {
  typename L::Numbers sums[3][n] = {};
  const auto carry = [&](int level) {
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) {
      sums[level + 1][k] += sums[level][k];
      sums[level][k] = typename L::Numbers{};
    }
  };
  int64_t pixels = 0;
  over_pixels(geometry, images, row, column, image, [&](const T* pixel, int64_t) {
    fetch_channels(pixel + n * L::kCount, behind, images.column_step);
#pragma GCC unroll 4
    for (int k = 0; k < n; ++k) sums[0][k] += L::load(pixel + k * L::kCount);
    if (FLAMBEAU_LIKELY(++pixels % kShort != 0)) return;
    carry(0);
    if (pixels % (kShort * kShort) == 0) carry(1);
  });
  for (int k = 0; k < n; ++k)
    L::store(result + k * L::kCount, (sums[0][k] + sums[1][k] + sums[2][k]) / divisor);
}

/// The sums over rows of windows of what reaches a row of the image from each window of a row.
template <class T>
void sum_of_shares(const PoolGeometry& geometry, const ChannelImages& from, const Covering& layers,
                   const Covering& rows, size_t z, size_t y, const T* divisors, const T* grad,
                   T* sums) {
  const int64_t channels = from.channels;
  std::fill_n(sums, geometry.output_columns * channels, T(0));
  for (int64_t l = layers.first[z]; l < layers.last[z]; ++l)
    for (int64_t i = rows.first[y]; i < rows.last[y]; ++i) {
      const T* const line = grad + l * from.layer_step + i * from.row_step;
      const T* const divisor = divisors + (l * geometry.output_rows + i) * geometry.output_columns;
      for (int64_t j = 0; j < geometry.output_columns; ++j) {
        const T* const pixel = line + j * from.column_step;
        T* const sum = sums + j * channels;
        const T by = divisor[j];
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) sum[c] += pixel[c] / by;
      }
    }
}

}  // namespace

template <class T>
void largest_of_channels(const PoolGeometry& geometry, const ChannelImages& from,
                         const ChannelImages& to, int64_t begin, int64_t end, const T* input,
                         T* result, int64_t* indices) {
  over_windows(geometry, from, to, begin, end, input,
               [&](int64_t row, int64_t column, const T* image, int64_t out) {
                 in_lanes<T>(from.channels, [&](auto lanes, auto vectors, int64_t c) {
                   using L = decltype(lanes);
                   constexpr int n = decltype(vectors)::value;
                   const int64_t behind = channels_behind(geometry, from, column, c, n * L::kCount);
                   if (indices == nullptr)
                     largest_of_pixels<L, n>(geometry, from, row, column, image + c, behind,
                                             result + out + c);
                   else
                     largest_of_pixels<L, n>(geometry, from, row, column, image + c, behind,
                                             result + out + c, indices + out + c);
                 });
               });
}

template <class T>
void average_channels(const PoolGeometry& geometry, const ChannelImages& from,
                      const ChannelImages& to, int64_t begin, int64_t end, const T* divisors,
                      const T* input, T* result) {
  over_windows(geometry, from, to, begin, end, input,
               [&](int64_t row, int64_t column, const T* image, int64_t out) {
                 const T divisor = divisors[row * geometry.output_columns + column];
                 in_lanes<T>(from.channels, [&](auto lanes, auto vectors, int64_t c) {
                   average_of_pixels<decltype(lanes), decltype(vectors)::value>(
                       geometry, from, row, column, image + c,
                       channels_behind(geometry, from, column, c,
                                       decltype(vectors)::value * decltype(lanes)::kCount),
                       divisor, result + out + c);
                 });
               });
}

template <class T>
void spread_channels(const PoolGeometry& geometry, const ChannelImages& from,
                     const ChannelImages& to, int64_t begin, int64_t end, const T* divisors,
                     const T* grad, T* result) {
  const Covering layers(geometry.layers, geometry.input_layers);
  const Covering rows(geometry.rows, geometry.input_rows);
  const Covering columns(geometry.columns, geometry.input_columns);
  const int64_t channels = from.channels, height = geometry.input_layers * geometry.input_rows;
  std::vector<T> sums(static_cast<size_t>(geometry.output_columns * channels));
  for (int64_t line = begin; line < end; ++line) {
    const int64_t image = line / height, z = line % height / geometry.input_rows,
                  y = line % geometry.input_rows;
    T* const out = result + image * to.image_step + z * to.layer_step + y * to.row_step;
    if (line > begin && rows.repeats(y)) {
      std::copy_n(out - to.row_step, geometry.input_columns * channels, out);
      continue;
    }
    sum_of_shares(geometry, from, layers, rows, static_cast<size_t>(z), static_cast<size_t>(y),
                  divisors, grad + image * from.image_step, sums.data());
    for (int64_t x = 0; x < geometry.input_columns; ++x) {
      T* const pixel = out + x * to.column_step;
      const size_t place = static_cast<size_t>(x);
      const T* share = sums.data() + columns.first[place] * channels;
      const int64_t count = columns.count(x);
      if (count == 0) {
        std::fill_n(pixel, channels, T(0));
      } else if (count == 1) {
        std::copy_n(share, channels, pixel);
      } else {
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) pixel[c] = share[c] + share[channels + c];
      }
      for (int64_t j = 2; j < count; ++j) {
        share = sums.data() + (columns.first[place] + j) * channels;
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) pixel[c] += share[c];
      }
    }
  }
}

#define FLAMBEAU_CHANNELS(T)                                                                      \
  template void largest_of_channels(const PoolGeometry&, const ChannelImages&,                    \
                                    const ChannelImages&, int64_t, int64_t, const T*, T*,         \
                                    int64_t*);                                                    \
  template void average_channels(const PoolGeometry&, const ChannelImages&, const ChannelImages&, \
                                 int64_t, int64_t, const T*, const T*, T*);                       \
  template void spread_channels(const PoolGeometry&, const ChannelImages&, const ChannelImages&,  \
                                int64_t, int64_t, const T*, const T*, T*);
FLAMBEAU_CHANNELS(float)
FLAMBEAU_CHANNELS(double)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
