#include "cpu/nn/planes.h"

#include <algorithm>

#include "cpu/linalg/vector.h"
#include "cpu/nn/conv_padding.h"

// Filters over single planes, row by row.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Rows whose columns are read in steps of two: the even ones, then from `half` on the odd ones, so
/// that what is read together lies together. `padding`: the column of the first element.
template <class T>
class RowSplitter {
 public:
  RowSplitter(int64_t width, int64_t padding, int64_t half)
      : whole_(width / (2 * kLine) * (2 * kLine)),
        rest_(width - whole_),
        first_(padding % 2 * half + padding / 2),
        second_((padding + 1) % 2 * half + (padding + 1) / 2),
        left_(std::min(rest_, kLine)),
        right_(std::max<int64_t>(rest_ - kLine, 0)),
        evens_((rest_ + 1) / 2),
        odds_(rest_ / 2) {}

  void split(const T* from, T* to) const {
    T *first = to + first_, *second = to + second_;
    for (int64_t j = 0; j < whole_; j += 2 * kLine, first += kLine, second += kLine) {
      const Vector<T> left = load(from + j), right = load(from + j + kLine);
      store(first, even_elements<T>(left, right));
      store(second, odd_elements<T>(left, right));
    }
    if (rest_ == 0) return;
    const Vector<T> left = left_.load(from + whole_);
    const Vector<T> right = rest_ > kLine ? right_.load(from + whole_ + kLine) : Vector<T>{};
    evens_.store(first, even_elements<T>(left, right));
    odds_.store(second, odd_elements<T>(left, right));
  }

 private:
  static constexpr int64_t kLine = kLanes<T>;
  int64_t whole_, rest_, first_, second_;
  Mask<T> left_, right_, evens_, odds_;
};

/// The image inside its border; what lies around and between its elements stays as it is.
template <class T>
void pad(const ConvGeometry& geometry, const PlaneSource<T>& source, int64_t pitch, T* padded) {
  const auto& [data, height, width, row_step, column_step] = source;
  const auto& [rows, columns] = geometry.axes;
  padded += rows.padding * pitch;
  if (columns.stride == 2) {
    const RowSplitter<T> splitter(width, columns.padding, pitch / 2);
    for (int64_t i = 0; i < height; ++i)
      splitter.split(data + i * width, padded + i * row_step * pitch);
    return;
  }
  padded += columns.padding;
  constexpr int64_t lanes = kLanes<T>;
  const int64_t whole = width / lanes * lanes;
  const Mask<T> rest(std::max<int64_t>(1, width - whole));
  for (int64_t i = 0; i < height; ++i) {
    const T* const from = data + i * width;
    T* const to = padded + i * row_step * pitch;
    if (column_step != 1) {
      for (int64_t j = 0; j < width; ++j) to[j * column_step] = from[j];
      continue;
    }
    for (int64_t j = 0; j < whole; j += lanes) store(to + j, load(from + j));
    if (whole < width) rest.store(to + whole, rest.load(from + whole));
  }
}

/// `lines` rows of the result, `vectors` x kLanes elements of each: sums enough to hide how long
/// one addition takes.
template <class T, int lines, int vectors>
struct Sums {
  Vector<T> at[lines][vectors];

  explicit Sums(T bias) {
    for (auto& line : at)
      for (auto& one : line) one = splat(bias);
  }
  /// The first `count` elements of each row.
  void write(T* to, int64_t row, int64_t count) const {
    constexpr int lanes = kLanes<T>;
    for (int v = 0; v < vectors; ++v, to += lanes, count -= lanes) {
      if (count >= lanes) {
        for (int i = 0; i < lines; ++i) store(to + i * row, at[i][v]);
      } else if (count > 0) {
        const Mask<T> mask(count);
        for (int i = 0; i < lines; ++i) mask.store(to + i * row, at[i][v]);
      }
    }
  }
};

/// Filters of any size and step.
template <class T>
struct AnyFilter {
  template <int lines, int vectors>
  static void add(const PlaneFilter<T>& call, const T* source, Sums<T, lines, vectors>& sums) {
    const auto& [rows, columns] = call.geometry.axes;
    const int64_t line_step = rows.stride * call.pitch, half = call.pitch / 2;
    const T* weight = call.weights;
    for (int64_t r = 0; r < rows.kernel; ++r) {
      const T* const line = source + r * rows.dilation * call.pitch;
      for (int64_t s = 0; s < columns.kernel; ++s) {
        const int64_t place = s * columns.dilation;
        const T* const from = line + (columns.stride == 2 ? place % 2 * half + place / 2 : place);
        const Vector<T> factor = splat(*weight++);
#pragma GCC unroll 8
        for (int i = 0; i < lines; ++i)
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            sums.at[i][v] =
                multiply_add<T>(load(from + i * line_step + v * kLanes<T>), factor, sums.at[i][v]);
      }
    }
  }
};

/// Filters of `taps` rows that follow each other: what is read is multiplied by all taps of its
/// column.
template <class T, int taps>
struct DenseFilter {
  template <int lines, int vectors>
  static void add(const PlaneFilter<T>& call, const T* source, Sums<T, lines, vectors>& sums) {
    const ConvAxis& columns = call.geometry.axes[1];
    for (int64_t s = 0; s < columns.kernel; ++s, source += columns.dilation) {
      Vector<T> factor[taps];
#pragma GCC unroll 8
      for (int r = 0; r < taps; ++r) factor[r] = splat(call.weights[r * columns.kernel + s]);
#pragma GCC unroll 16
      for (int y = 0; y < lines + taps - 1; ++y)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
          const Vector<T> line = load_once(source + y * call.pitch + v * kLanes<T>);
#pragma GCC unroll 8
          for (int r = 0; r < taps; ++r)
            if (y - r >= 0 && y - r < lines)
              sums.at[y - r][v] = multiply_add<T>(line, factor[r], sums.at[y - r][v]);
        }
    }
  }
};

template <class Filter, int lines, class T>
void filter_lines(const PlaneFilter<T>& call, int64_t first) {
  constexpr int lanes = kLanes<T>;
  const auto& [rows, columns] = call.geometry.axes;
  const T* const source = call.padded + first * rows.stride * call.pitch;
  T* const to = call.result + first * columns.output;
  const int64_t count = columns.output;
  int64_t j = 0;
  for (; j + lanes < count; j += 2 * lanes) {
    Sums<T, lines, 2> sums(call.bias);
    Filter::add(call, source + j, sums);
    sums.write(to + j, count, count - j);
  }
  if (j < count) {
    Sums<T, lines, 1> sums(call.bias);
    Filter::add(call, source + j, sums);
    sums.write(to + j, count, count - j);
  }
}

template <class Filter, class T>
void filter_rows(const PlaneFilter<T>& call) {
  constexpr int few = 4, many = kVectorBytes == 64 ? 7 : few;  // of 32 registers, or of 16
  const int64_t height = call.geometry.axes[0].output;
  int64_t i = 0;
  for (; i + many <= height; i += many) filter_lines<Filter, many>(call, i);
  for (; i + few <= height; i += few) filter_lines<Filter, few>(call, i);
  for (; i < height; ++i) filter_lines<Filter, 1>(call, i);
}

template <class T>
void filter(const PlaneFilter<T>& call) {
  const auto& [rows, columns] = call.geometry.axes;
  if (rows.stride == 1 && columns.stride == 1 && rows.dilation == 1) {
    if (rows.kernel == 3) return filter_rows<DenseFilter<T, 3>>(call);
    if (rows.kernel == 5) return filter_rows<DenseFilter<T, 5>>(call);
    if (rows.kernel == 7) return filter_rows<DenseFilter<T, 7>>(call);
  }
  filter_rows<AnyFilter<T>>(call);
}

/// Where the rows of results under tap t, counted along the rows of the filter, begin to read.
template <class T>
int64_t place_of_tap(const PlaneGrad<T>& call, int64_t t) {
  const auto& [rows, columns] = call.geometry.axes;
  const int64_t column = t % columns.kernel * columns.dilation;
  return t / columns.kernel * rows.dilation * call.pitch +
         (columns.stride == 2 ? column % 2 * (call.pitch / 2) + column / 2 : column);
}

/// The products of `taps` taps from `first` on with the gradient, added up.
template <class T, int taps>
void add_taps(const PlaneGrad<T>& call, int64_t first) {
  constexpr int64_t lanes = kLanes<T>;
  const auto& [rows, columns] = call.geometry.axes;
  const int64_t line_step = rows.stride * call.pitch, count = columns.output;
  const int64_t whole = count / lanes * lanes;
  const Mask<T> rest(std::max<int64_t>(1, count - whole));
  const T *from[taps], *grad = call.grad;
  for (int t = 0; t < taps; ++t) from[t] = call.padded + place_of_tap(call, first + t);
  Vector<T> sum[taps] = {};
  for (int64_t i = 0; i < rows.output; ++i, grad += count) {
    const int64_t line = i * line_step;
    for (int64_t j = 0; j < whole; j += lanes) {
      const Vector<T> g = load(grad + j);
#pragma GCC unroll 16
      for (int t = 0; t < taps; ++t) sum[t] = multiply_add<T>(load(from[t] + line + j), g, sum[t]);
    }
    if (whole == count) continue;
    const Vector<T> g = rest.load(grad + whole);
#pragma GCC unroll 16
    for (int t = 0; t < taps; ++t)
      sum[t] = multiply_add<T>(rest.load(from[t] + line + whole), g, sum[t]);
  }
  for (int t = 0; t < taps; ++t) {
    T total = sum[t][0];
    for (int l = 1; l < lanes; ++l) total += sum[t][l];
    call.sums[first + t] += total;
  }
}

template <class T>
void add_grad(const PlaneGrad<T>& call) {
  const int64_t taps = call.geometry.kernel_size();
  int64_t t = 0;
  for (; t + 9 <= taps; t += 9) add_taps<T, 9>(call, t);
  for (; t + 4 <= taps; t += 4) add_taps<T, 4>(call, t);
  for (; t < taps; ++t) add_taps<T, 1>(call, t);
}

}  // namespace

template <class T>
const PlaneKernels<T>& plane_kernels() {
  static constexpr PlaneKernels<T> kernels{&pad<T>, &filter<T>, &add_grad<T>, kLanes<T>};
  return kernels;
}
template const PlaneKernels<float>& plane_kernels();
template const PlaneKernels<double>& plane_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
