#include "cpu/nn/planes.h"

#include <algorithm>

#include "cpu/linalg/vector.h"

// Filters over single planes, row by row.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The image inside its border; what lies around and between its elements stays as it is.
template <class T>
void pad(const ConvGeometry& geometry, const PlaneSource<T>& source, int64_t pitch, T* padded) {
  const auto& [data, height, width, row_step, column_step] = source;
  const auto& [rows, columns] = geometry.axes;
  padded += rows.padding * pitch + columns.padding;
  for (int64_t i = 0; i < height; ++i) {
    const T* const from = data + i * width;
    T* const to = padded + i * row_step * pitch;
    if (column_step == 1)
      std::copy_n(from, width, to);
    else
      for (int64_t j = 0; j < width; ++j) to[j * column_step] = from[j];
  }
}

/// The elements at even places of two vectors.
template <class T>
Vector<T> even_elements(Vector<T> first, Vector<T> second) {
  typedef typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type Index;
  Index even;
  for (int i = 0; i < kLanes<T>; ++i) even[i] = 2 * i;
  return __builtin_shuffle(first, second, even);
}

template <class T, int step>
Vector<T> neighbours(const T* source) {
  if constexpr (step == 1) return load(source);
  return even_elements<T>(load(source), load(source + kLanes<T>));
}

/// `lines` rows of the result, `vectors` x kLanes elements of each: sums enough to hide how long
/// one addition takes.
template <class T, int step, int lines, int vectors>
void block(const PlaneFilter<T>& call, const T* source, int64_t count, T* to) {
  constexpr int lanes = kLanes<T>;
  const auto& [rows, columns] = call.geometry.axes;
  const int64_t line_step = rows.stride * call.pitch;
  Vector<T> sum[lines][vectors];
  for (auto& line : sum)
    for (auto& one : line) one = splat(call.bias);
  const T* weight = call.weights;
  for (int64_t r = 0; r < rows.kernel; ++r) {
    const T* from = source + r * rows.dilation * call.pitch;
    for (int64_t s = 0; s < columns.kernel; ++s, from += columns.dilation) {
      const Vector<T> factor = splat(*weight++);
#pragma GCC unroll 4
      for (int i = 0; i < lines; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
          sum[i][v] = multiply_add<T>(neighbours<T, step>(from + i * line_step + v * step * lanes),
                                      factor, sum[i][v]);
    }
  }
  for (int i = 0; i < lines; ++i)
    for (int v = 0; v < vectors; ++v) {
      const int64_t left = count - v * lanes;
      T* const out = to + i * columns.output + v * lanes;
      if (left >= lanes)
        store(out, sum[i][v]);
      else if (left > 0)
        Mask<T>(left).store(out, sum[i][v]);
    }
}

template <class T, int step, int lines>
void filter_lines(const PlaneFilter<T>& call, int64_t first) {
  constexpr int lanes = kLanes<T>;
  const auto& [rows, columns] = call.geometry.axes;
  const T* const source = call.padded + first * rows.stride * call.pitch;
  T* const to = call.result + first * columns.output;
  const int64_t count = columns.output;
  int64_t j = 0;
  for (; j + lanes < count; j += 2 * lanes)
    block<T, step, lines, 2>(call, source + j * step, count - j, to + j);
  for (; j < count; j += lanes)
    block<T, step, lines, 1>(call, source + j * step, count - j, to + j);
}

template <class T, int step>
void filter_rows(const PlaneFilter<T>& call) {
  constexpr int lines = 4;
  const int64_t height = call.geometry.axes[0].output;
  int64_t i = 0;
  for (; i + lines <= height; i += lines) filter_lines<T, step, lines>(call, i);
  for (; i < height; ++i) filter_lines<T, step, 1>(call, i);
}

template <class T>
void filter(const PlaneFilter<T>& call) {
  if (call.geometry.axes[1].stride == 1)
    filter_rows<T, 1>(call);
  else
    filter_rows<T, 2>(call);
}

}  // namespace

template <class T>
const PlaneKernels<T>& plane_kernels() {
  static constexpr PlaneKernels<T> kernels{&pad<T>, &filter<T>, kLanes<T>};
  return kernels;
}
template const PlaneKernels<float>& plane_kernels();
template const PlaneKernels<double>& plane_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
