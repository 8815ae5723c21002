#include <algorithm>

#include "core/backends/half_products.h"
#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/gemm.h"
#include "cpu/nn/conv_matrices.h"
#include "cpu/nn/unfolding.h"

namespace flambeau::cpu {
namespace {

template <class T>
using Matrix = MatrixView<T>;

/// How many rows of results a task takes: no more than keep all threads busy, all of them where the
/// products of one task do.
template <class T>
int64_t rows_of_task(const ConvGeometry& geometry, const Unfolding<T>& unfolding) {
  const int64_t all = geometry.batch * geometry.axes[0].output;
  if (geometry.has_large_filters()) return std::max<int64_t>(all, 1);
  const int64_t shared = (all + num_threads() - 1) / num_threads();
  return std::min(unfolding.rows_at_a_time(), std::max<int64_t>(shared, 1));
}

template <class T>
T* buffer(Tensor& owner, int64_t count) {
  owner = empty(Shape{std::max<int64_t>(count, 1)}, dtype_of<T>);
  return owner.data<T>();
}

/// Whether filters cover the image, once: images are lines of a matrix then, as their results are.
bool is_covered(const ConvGeometry& geometry) {
  const auto covered = [](const ConvAxis& axis) {
    return axis.output == 1 && axis.padding == 0 && axis.kernel == axis.input;
  };
  return covered(geometry.axes[0]) && covered(geometry.axes[1]);
}

/// The matrices of a group where filters cover images.
template <class T>
struct Covered {
  int64_t batch, outputs, depth, groups, group;
  explicit Covered(const ConvGeometry& g, int64_t which)
      : batch(g.batch),
        outputs(g.out_channels),
        depth(g.in_channels * g.kernel_size()),
        groups(g.groups),
        group(which) {}
  T* filters(T* weight) const { return weight + group * outputs * depth; }
  T* images(T* input) const { return input + group * depth; }
  T* results(T* result) const { return result + group * outputs; }
  int64_t image_step() const { return groups * depth; }
  int64_t result_step() const { return groups * outputs; }
};

/// One tap that lies on each element of the images: these are lines of a matrix already.
bool is_pointwise(const ConvGeometry& geometry) {
  const auto pointwise = [](const ConvAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0;
  };
  return pointwise(geometry.axes[0]) && pointwise(geometry.axes[1]);
}

/// Products of filters and patches. `filters` are those of the first group; `bias` may be null.
template <class T>
void multiply_patches(const ConvGeometry& geometry, Matrix<T> filters, const T* input,
                      const T* bias, T* result) {
  const Unfolding<T> unfolding(geometry);
  const int64_t outputs = geometry.out_channels, depth = unfolding.depth();
  const int64_t all = geometry.batch * geometry.axes[0].output;
  const int64_t step = rows_of_task(geometry, unfolding), tasks = (all + step - 1) / step;
  parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
    const int64_t most = unfolding.positions({0, step});
    Tensor columns_owner, results_owner;
    T* const columns = buffer<T>(columns_owner, depth * most);
    T* matrix = nullptr;
    for (int64_t task = begin; task < end; ++task) {
      const ResultRows rows{task * step, std::min(step, all - task * step)};
      const int64_t count = unfolding.positions(rows);
      for (int64_t group = 0; group < geometry.groups; ++group) {
        check_interrupt();
        unfolding.unfold(rows, group, input, columns);
        const bool is_direct = unfolding.is_in_one_image(rows);
        if (!is_direct && !matrix) matrix = buffer<T>(results_owner, outputs * most);
        T* const to = is_direct ? result + unfolding.result_offset(rows, group) : matrix;
        const int64_t stride = is_direct ? unfolding.result_step() : count;
        if (bias) {
          for (int64_t k = 0; k < outputs; ++k)
            std::fill_n(to + k * stride, count, bias[group * outputs + k]);
        }
        gemm<T>({outputs,
                 count,
                 depth,
                 {filters.data + group * outputs * depth, filters.row, filters.column},
                 {columns, count, 1},
                 to,
                 stride,
                 1,
                 bias ? GemmFactor<T>(1) : GemmFactor<T>(0)});
        if (!is_direct) unfolding.scatter(rows, group, matrix, result);
      }
    }
  });
}

}  // namespace

template <class T>
void convolve_unfolded(const ConvGeometry& geometry, const T* input, const T* weight, const T* bias,
                       T* result) {
  const int64_t depth = geometry.in_channels * geometry.kernel_size();
  if (!is_covered(geometry))
    return multiply_patches<T>(geometry, {weight, depth, 1}, input, bias, result);
  for (int64_t i = 0; i < geometry.groups; ++i) {
    const Covered<const T> all(geometry, i);
    gemm<T>({all.batch,
             all.outputs,
             all.depth,
             {all.images(input), all.image_step(), 1},
             {all.filters(weight), 1, all.depth},
             result + i * all.outputs,
             all.result_step(),
             1,
             0,
             bias ? bias + i * all.outputs : nullptr});
  }
}

template <class T>
void unfolded_input_grad(const ConvGeometry& geometry, const T* grad, const T* weight, T* result) {
  if (is_covered(geometry)) {
    for (int64_t i = 0; i < geometry.groups; ++i) {
      const Covered<const T> all(geometry, i);
      gemm<T>({all.batch,
               all.depth,
               all.outputs,
               {all.results(grad), all.result_step(), 1},
               {all.filters(weight), all.depth, 1},
               result + i * all.depth,
               all.image_step()});
    }
    return;
  }
  const Unfolding<T> unfolding(geometry);
  const int64_t outputs = geometry.out_channels, depth = unfolding.depth();
  const int64_t height = geometry.axes[0].output;
  const int64_t step = unfolding.rows_at_a_time();
  const int64_t shared = (geometry.batch + num_threads() - 1) / num_threads();
  const int64_t images = geometry.has_large_filters()
                             ? std::max<int64_t>(geometry.batch, 1)
                             : std::clamp<int64_t>(step / height, 1, shared);
  const int64_t size = geometry.groups * geometry.in_channels * geometry.input_plane();
  // An image is one thread's: windows overlap.
  const int64_t tasks = (geometry.batch + images - 1) / images;
  const auto run = [&](int64_t begin, int64_t end) {
    const int64_t most =
        unfolding.positions({0, std::max(std::min(step, images * height), int64_t{1})});
    Tensor columns_owner, grad_owner;
    T* const columns = buffer<T>(columns_owner, depth * most);
    T* const matrix = buffer<T>(grad_owner, outputs * most);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task * images, last = std::min(first + images, geometry.batch);
      std::fill(result + first * size, result + last * size, T(0));
      for (int64_t row = first * height; row < last * height; row += step) {
        const ResultRows rows{row, std::min(step, last * height - row)};
        const int64_t count = unfolding.positions(rows);
        for (int64_t group = 0; group < geometry.groups; ++group) {
          check_interrupt();
          unfolding.gather(rows, group, grad, matrix);
          const Matrix<T> filters{weight + group * outputs * depth, 1, depth};
          gemm<T>({depth, count, outputs, filters, {matrix, count, 1}, columns, count});
          unfolding.fold(rows, group, columns, result);
        }
      }
    }
  };
  if (tasks < num_threads())
    run(0, tasks);  // the products have several threads
  else
    parallel_for(0, tasks, 1, run);
}

template <class T>
void unfolded_weight_grad(const ConvGeometry& geometry, const T* grad, const T* input, T* result) {
  if (is_covered(geometry)) {
    for (int64_t i = 0; i < geometry.groups; ++i) {
      const Covered<const T> all(geometry, i);
      gemm<T>({all.outputs,
               all.depth,
               all.batch,
               {all.results(grad), 1, all.result_step()},
               {all.images(input), all.image_step(), 1},
               result + i * all.outputs * all.depth,
               all.depth});
    }
    return;
  }
  const Unfolding<T> unfolding(geometry);
  const int64_t outputs = geometry.out_channels, depth = unfolding.depth();
  const int64_t all = geometry.batch * geometry.axes[0].output;
  const int64_t step = rows_of_task(geometry, unfolding), tasks = (all + step - 1) / step;
  const int64_t size = geometry.groups * outputs * depth;
  const int64_t parts = std::clamp<int64_t>(tasks, 1, num_threads());
  Tensor owner;
  T* const sums = parts > 1 ? buffer<T>(owner, (parts - 1) * size) : nullptr;
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t most = unfolding.positions({0, step});
    Tensor columns_owner, grad_owner;
    T* const columns = buffer<T>(columns_owner, depth * most);
    T* const matrix = buffer<T>(grad_owner, outputs * most);
    for (int64_t part = begin; part < end; ++part) {
      T* const mine = part == 0 ? result : sums + (part - 1) * size;
      bool is_first = true;
      for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
        const ResultRows rows{task * step, std::min(step, all - task * step)};
        const int64_t count = unfolding.positions(rows);
        for (int64_t group = 0; group < geometry.groups; ++group) {
          check_interrupt();
          unfolding.unfold(rows, group, input, columns);
          unfolding.gather(rows, group, grad, matrix);
          gemm<T>({outputs,
                   depth,
                   count,
                   {matrix, count, 1},
                   {columns, 1, count},
                   mine + group * outputs * depth,
                   depth,
                   1,
                   T(is_first ? 0 : 1)});
        }
        is_first = false;
      }
      if (is_first) std::fill_n(mine, size, T(0));
    }
  });
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t i = 0; i < size; ++i) result[i] += sums[(part - 1) * size + i];
}

#define FLAMBEAU_UNFOLDED(T) \
  template void convolve_unfolded<T>(const ConvGeometry&, const T*, const T*, const T*, T*);
FLAMBEAU_UNFOLDED(float)
FLAMBEAU_UNFOLDED(double)
FLAMBEAU_UNFOLDED(float16)
FLAMBEAU_UNFOLDED(bfloat16)
#undef FLAMBEAU_UNFOLDED
#define FLAMBEAU_UNFOLDED(T)                                                         \
  template void unfolded_input_grad<T>(const ConvGeometry&, const T*, const T*, T*); \
  template void unfolded_weight_grad<T>(const ConvGeometry&, const T*, const T*, T*);
FLAMBEAU_UNFOLDED(float)
FLAMBEAU_UNFOLDED(double)
#undef FLAMBEAU_UNFOLDED

namespace {

constexpr int64_t kFewPositions = 64;  // tiles that read images in place stay half empty
constexpr int64_t kGemmSide = 8;       // channels that fill a good part of a tile
constexpr int64_t kDeepPhase = 4;      // sums of so many elements for each channel that is written

bool fills_tiles(const ConvGeometry& geometry) {
  return std::min(geometry.in_channels, geometry.out_channels) >= kGemmSide;
}

/// Products of small matrices in memory, of which there are many.
bool is_pointwise_of_small_images(const ConvGeometry& geometry) {
  return is_pointwise(geometry) && geometry.output_plane() <= kFewPositions &&
         fills_tiles(geometry);
}

}  // namespace

// Measured on Zen 4 and 5, by `tests/benchmarks --group convolutions`: read in place, images of
// floats win everywhere else.
bool forward_unfolds(const ConvGeometry& geometry, DType dtype) {
  if (is_covered(geometry)) return true;
  if (dtype == DType::bfloat16)
    return fills_tiles(geometry) && has_matrix_products() && !convolves_matrices(geometry, dtype);
  return is_pointwise_of_small_images(geometry) && geometry.has_large_filters() &&
         geometry.out_channels > geometry.in_channels &&
         geometry.batch * geometry.output_plane() <= kFewPositions;
}

bool input_grad_unfolds(const ConvGeometry& geometry, DType dtype) {
  if (is_covered(geometry)) return true;
  if (convolves_matrices(geometry, dtype)) return false;
  const auto& [rows, columns] = geometry.axes;
  const int64_t outputs = geometry.out_channels,
                depth = geometry.in_channels * geometry.kernel_size();
  if (std::min(outputs, depth) < kGemmSide) return false;
  const bool strides = std::min(rows.stride, columns.stride) > 1;
  // Pairs of what the windows share are faster than columns of floats, and so are deep phases of
  // the stride, each of which has these taps at least.
  const int64_t taps = rows.kernel / rows.stride * (columns.kernel / columns.stride);
  if (strides && geometry.kernel_size() > rows.stride * columns.stride &&
      (convolves_pairs(geometry, dtype) || taps * outputs >= kDeepPhase * geometry.in_channels))
    return false;
  return strides || geometry.output_plane() == 1;
}

bool weight_grad_unfolds(const ConvGeometry& geometry) {
  const auto& [rows, columns] = geometry.axes;
  return is_covered(geometry) || is_pointwise_of_small_images(geometry) ||
         (std::min(rows.stride, columns.stride) > 1 && geometry.has_large_filters() &&
          fills_tiles(geometry));
}

}  // namespace flambeau::cpu
