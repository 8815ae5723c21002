#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/tensor/views.h"
#include "core/threads/parallel.h"
#include "kernels/grid.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kBlock = 256;  // points whose positions stay in the first cache

/// Positions along one dim of an image, counted in elements.
template <class T>
class Axis {
 public:
  Axis(int64_t length, std::string_view padding, bool align_corners)
      : length_(static_cast<T>(length)),
        corners_(align_corners),
        reflects_(padding == "reflection"),
        stays_(padding == "zeros") {}

  /// Of `count` points, two coordinates apart.
  void find(const T* coordinates, int64_t count, T* spots) const {
    const T length = length_, half = (length - 1) / 2, last = length - 1;
    if (corners_) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) spots[i] = (coordinates[2 * i] + 1) * half;
    } else {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) spots[i] = ((coordinates[2 * i] + 1) * length - 1) / 2;
    }
    if (reflects_) reflect(spots, count);
    if (stays_) return;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const T spot = spots[i] > 0 ? spots[i] : T(0);  // which NaN is not
      spots[i] = spot < last ? spot : last;
    }
  }

 private:
  /// Mirrored at both ends, until they lie between.
  void reflect(T* spots, int64_t count) const {
    const T span = corners_ ? length_ - 1 : length_, low = corners_ ? T(0) : T(-0.5);
    for (int64_t i = 0; i < count; ++i) {
      const T gone = std::fmod(std::abs(spots[i] - low), 2 * span);
      spots[i] = span == 0 ? T(0) : span - std::abs(gone - span) + low;
    }
  }

  T length_;
  bool corners_, reflects_, stays_;
};

/// The element before a position and the one behind it; 0, which counts nothing, for one outside.
template <class T>
struct Pair {
  T places[2], weights[2];
  Pair(T spot, T last) {
    const T low = std::floor(spot), part = spot - low;
    const T at[2] = {low, low + 1}, counts[2] = {1 - part, part};
    for (int i = 0; i < 2; ++i) {
      const bool inside = at[i] >= 0 && at[i] <= last;
      places[i] = inside ? at[i] : T(0);
      weights[i] = inside ? counts[i] : T(0);
    }
  }
};

/// Taps (row, column) of points lie `apart` elements apart, the columns' first.
template <class T>
void cross(const T* rows, const T* columns, int64_t count, int64_t height, int64_t width,
           int64_t* places, T* weights, int64_t apart) {
  const T last_row = static_cast<T>(height - 1), last_column = static_cast<T>(width - 1);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const Pair<T> row(rows[i], last_row), column(columns[i], last_column);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      places[k * apart + i] = static_cast<int64_t>(row.places[k / 2]) * width +
                              static_cast<int64_t>(column.places[k % 2]);
      weights[k * apart + i] = row.weights[k / 2] * column.weights[k % 2];
    }
  }
}

}  // namespace

void grid_corners(const Tensor& places, const Tensor& weights, const Tensor& coordinates,
                  IntList size, std::string_view padding_mode, bool align_corners) {
  const Tensor dense = contiguous_data(coordinates);
  const int64_t points = dense.size(1), blocks = (points + kBlock - 1) / kBlock;
  const auto run = [&]<class T>(T) {
    const Axis<T> down(size[0], padding_mode, align_corners);
    const Axis<T> across(size[1], padding_mode, align_corners);
    const T* const from = dense.data<T>();
    int64_t* const to = places.data<int64_t>();
    T* const counts = weights.data<T>();
    parallel_for(0, dense.size(0) * blocks, std::max<int64_t>(1, kGrain / (16 * kBlock)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t b = begin; b < end; ++b) {
                     const int64_t sample = b / blocks, first = b % blocks * kBlock;
                     const int64_t count = std::min(kBlock, points - first);
                     const T* const at = from + 2 * (sample * points + first);
                     T rows[kBlock], columns[kBlock];
                     across.find(at, count, columns);
                     down.find(at + 1, count, rows);
                     const int64_t place = 4 * sample * points + first;
                     cross(rows, columns, count, size[0], size[1], to + place, counts + place,
                           points);
                   }
                 });
  };
  dense.dtype() == DType::float64 ? run(double()) : run(float());
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
