#include "cpu/nn/unfolding.h"

#include <algorithm>

#include "core/threads/parallel.h"
#include "core/types/dtype.h"
#include "cpu/nn/line_sums.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kColumnBytes = 2 << 20;
constexpr int64_t kLeastPositions = 256;  // so many make the packing of filters cheap

/// Positions j of a row for which j * stride + offset lies inside [0, size).
struct Inside {
  int64_t first, last;
};
Inside inside(const ConvAxis& axis, int64_t offset) {
  const int64_t step = axis.stride;
  const int64_t first = offset >= 0 ? 0 : (-offset + step - 1) / step;
  const int64_t last = axis.input > offset ? (axis.input - 1 - offset) / step + 1 : 0;
  return {std::min(first, axis.output),
          std::clamp(last, std::min(first, axis.output), axis.output)};
}

}  // namespace

template <class T>
int64_t Unfolding<T>::rows_at_a_time() const {
  const int64_t width = g_.axes[1].output, all = g_.batch * g_.axes[0].output;
  const int64_t fitting = kColumnBytes / std::max<int64_t>(depth() * sizeof(T), 1);
  const int64_t rows = std::max(fitting, kLeastPositions) / std::max<int64_t>(width, 1);
  const int64_t height = g_.axes[0].output;
  // Whole images, where several fit.
  return std::clamp<int64_t>(rows > height ? rows / height * height : rows, 1,
                             std::max<int64_t>(all, 1));
}

template <class T>
template <class Body>
void Unfolding<T>::over_lines(ResultRows rows, int64_t begin, int64_t end, const Body& body) const {
  const auto& [down, across] = g_.axes;
  const int64_t count = positions(rows), kernel = g_.kernel_size();
  for (int64_t d = begin; d < end; ++d) {
    const int64_t channel = d / kernel, r = d % kernel / across.kernel, s = d % across.kernel;
    const int64_t offset = s * across.dilation - across.padding;
    const Inside range = inside(across, offset);
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t row = rows.first + i, image = row / down.output;
      const int64_t y = row % down.output * down.stride + r * down.dilation - down.padding;
      const int64_t line = d * count + i * across.output;
      const bool is_inside = y >= 0 && y < down.input;
      const int64_t source = (image * g_.groups * g_.in_channels + channel) * g_.input_plane() +
                             y * across.input + offset;
      body(line, is_inside ? range : Inside{0, 0}, source);
    }
  }
}

template <class T>
template <class Body>
void Unfolding<T>::share_lines(ResultRows rows, int64_t lines, const Body& body) const {
  const int64_t positions_of_line = std::max<int64_t>(positions(rows), 1);
  parallel_for(0, lines, std::max<int64_t>(kGrain / positions_of_line, 1), body);
}

template <class T>
void Unfolding<T>::unfold(ResultRows rows, int64_t group, const T* input, T* columns) const {
  const int64_t width = g_.axes[1].output, step = g_.axes[1].stride;
  input += group * g_.in_channels * g_.input_plane();
  const auto copy_line = [&](int64_t line, Inside range, int64_t source) {
    T* const to = columns + line;
    const T* const from = input + source;
    std::fill(to, to + range.first, T(0));
    if (step == 1) {
      std::copy(from + range.first, from + range.last, to + range.first);
    } else {
      for (int64_t j = range.first; j < range.last; ++j) to[j] = from[j * step];
    }
    std::fill(to + range.last, to + width, T(0));
  };
  share_lines(rows, depth(),
              [&](int64_t begin, int64_t end) { over_lines(rows, begin, end, copy_line); });
}

template <class T>
void Unfolding<T>::fold(ResultRows rows, int64_t group, const T* columns, T* input) const {
  const int64_t step = g_.axes[1].stride;
  const auto add_apart = FLAMBEAU_PICK(add_to_every_second<T>);
  input += group * g_.in_channels * g_.input_plane();
  over_lines(rows, 0, depth(), [&](int64_t line, Inside range, int64_t source) {
    const T* const from = columns + line;
    T* const to = input + source;
    if (step == 1) {
      for (int64_t j = range.first; j < range.last; ++j) to[j] += from[j];
    } else if (step == 2) {
      add_apart(range.last - range.first, from + range.first, to + 2 * range.first);
    } else {
      for (int64_t j = range.first; j < range.last; ++j) to[j * step] += from[j];
    }
  });
}

template <class T>
int64_t Unfolding<T>::result_offset(ResultRows rows, int64_t group) const {
  const int64_t height = g_.axes[0].output, image = rows.first / height;
  return (image * g_.groups + group) * g_.out_channels * g_.output_plane() +
         rows.first % height * g_.axes[1].output;
}

namespace {

/// body(rows of one image, their first position)
template <class Body>
void over_images(ResultRows rows, int64_t height, int64_t width, const Body& body) {
  for (int64_t done = 0; done < rows.count;) {
    const int64_t first = rows.first + done;
    const int64_t count = std::min(rows.count - done, height - first % height);
    body(ResultRows{first, count}, done * width);
    done += count;
  }
}

}  // namespace

template <class T>
void Unfolding<T>::gather(ResultRows rows, int64_t group, const T* results, T* matrix) const {
  over_images(rows, g_.axes[0].output, g_.axes[1].output, [&](ResultRows part, int64_t first) {
    const T* const from = results + result_offset(part, group);
    share_lines(part, g_.out_channels, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        std::copy_n(from + k * result_step(), positions(part),
                    matrix + k * positions(rows) + first);
    });
  });
}

template <class T>
void Unfolding<T>::scatter(ResultRows rows, int64_t group, const T* matrix, T* results) const {
  over_images(rows, g_.axes[0].output, g_.axes[1].output, [&](ResultRows part, int64_t first) {
    T* const to = results + result_offset(part, group);
    share_lines(part, g_.out_channels, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        std::copy_n(matrix + k * positions(rows) + first, positions(part), to + k * result_step());
    });
  });
}

template class Unfolding<float>;
template class Unfolding<double>;
// Halves are not added up.
#define FLAMBEAU_HALVES(T)                                                     \
  template int64_t Unfolding<T>::rows_at_a_time() const;                       \
  template void Unfolding<T>::unfold(ResultRows, int64_t, const T*, T*) const; \
  template int64_t Unfolding<T>::result_offset(ResultRows, int64_t) const;     \
  template void Unfolding<T>::scatter(ResultRows, int64_t, const T*, T*) const;
FLAMBEAU_HALVES(float16)
FLAMBEAU_HALVES(bfloat16)
#undef FLAMBEAU_HALVES

}  // namespace flambeau::cpu
