#include "cpu/nn/planes.h"

#include <algorithm>

#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"
#include "cpu/linalg/scratch.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kThreadWork = 100'000;   // multiplications that pay for a thread
constexpr int64_t kMostBytes = 512 << 10;  // of a padded plane: in L2

/// The kernels for the processor at hand.
template <class T>
const PlaneKernels<T>& best_kernels() {
  static const PlaneKernels<T>& best = FLAMBEAU_PICK(plane_kernels<T>)();
  return best;
}

/// A plane inside its border, as filters read it.
struct PaddedPlane {
  int64_t height, pitch;
  template <class T>
  PaddedPlane(const ConvGeometry& geometry, const PlaneKernels<T>& kernels) {
    const auto& [rows, columns] = geometry.axes;
    const int64_t covered = std::max(columns.covered(), columns.input + columns.padding);
    pitch = (covered + 1) / 2 * 2 + 2 * kernels.lanes;  // two halves
    height = std::max(rows.covered(), rows.input + rows.padding);
  }
  /// Zeros for it, in which vectors may reach past the last row.
  template <class T>
  T* zeros(const PlaneKernels<T>& kernels) const {
    const int64_t size = height * pitch + 10 * kernels.lanes;
    T* const padded = scratch<T>(0, static_cast<size_t>(size));
    std::fill_n(padded, size, T(0));
    return padded;
  }
};

/// Whether planes of T are filtered here.
template <class T>
bool takes_planes(const ConvGeometry& geometry) {
  const auto& [rows, columns] = geometry.axes;
  if (geometry.in_channels != 1 || std::max(rows.stride, columns.stride) > 2) return false;
  if (std::min(rows.padding, columns.padding) < 0) return false;
  const PaddedPlane plane(geometry, best_kernels<T>());
  return plane.height * plane.pitch * static_cast<int64_t>(sizeof(T)) <= kMostBytes;
}

/// `source`: the first plane.
template <class T>
bool filter_planes(const ConvGeometry& geometry, const PlaneSource<T>& source, const T* weight,
                   const T* bias, T* result) {
  if (!takes_planes<T>(geometry)) return false;
  const PlaneKernels<T>& kernels = best_kernels<T>();
  const PaddedPlane plane_size(geometry, kernels);
  const int64_t outputs = geometry.out_channels, kernel = geometry.kernel_size();
  const int64_t work = geometry.output_plane() * kernel * outputs;
  parallel_for(0, geometry.batch * geometry.groups,
               std::max<int64_t>(1, kThreadWork / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 T* const padded = plane_size.zeros(kernels);
                 for (int64_t plane = begin; plane < end; ++plane) {
                   check_interrupt();
                   PlaneSource<T> one = source;
                   one.data += plane * source.height * source.width;
                   kernels.pad(geometry, one, plane_size.pitch, padded);
                   const int64_t group = plane % geometry.groups;
                   for (int64_t k = 0; k < outputs; ++k) {
                     const int64_t filter = group * outputs + k;
                     kernels.filter({geometry, padded, plane_size.pitch, weight + filter * kernel,
                                     bias ? bias[filter] : T(0),
                                     result + (plane * outputs + k) * geometry.output_plane()});
                   }
                 }
               });
  return true;
}

}  // namespace

template <class T>
bool try_planes(const ConvGeometry& geometry, const T* input, const T* weight, const T* bias,
                T* result) {
  const auto& [rows, columns] = geometry.axes;
  return filter_planes<T>(geometry, {input, rows.input, columns.input, 1, 1}, weight, bias, result);
}

template <class T>
bool try_planes_grad(const ConvGeometry& geometry, const T* grad, const T* weight, T* result) {
  const auto& [rows, columns] = geometry.axes;
  if (geometry.out_channels != 1 || geometry.output_plane() == 0) return false;
  if (std::max(rows.stride, columns.stride) > 2) return false;
  const auto turned = [](const ConvAxis& axis) {
    return ConvAxis{(axis.output - 1) * axis.stride + 1,
                    axis.input,
                    axis.kernel,
                    1,
                    (axis.kernel - 1) * axis.dilation - axis.padding,
                    axis.dilation};
  };
  const int64_t kernel = geometry.kernel_size(), count = geometry.groups * kernel;
  T seen = 0;
  for (int64_t i = 0; i < count; ++i) seen += weight[i] * T(0);
  if (seen != T(0)) return false;  // an infinite weight would meet the zeros
  const Tensor owner = empty(Shape{count}, dtype_of<T>);
  T* const filters = owner.data<T>();
  for (int64_t i = 0; i < count; i += kernel)
    std::reverse_copy(weight + i, weight + i + kernel, filters + i);
  return filter_planes<T>(
      {geometry.batch, geometry.groups, geometry.in_channels, 1, {turned(rows), turned(columns)}},
      {grad, rows.output, columns.output, rows.stride, columns.stride}, filters, nullptr, result);
}

template <class T>
bool try_planes_weight_grad(const ConvGeometry& geometry, const T* grad, const T* input,
                            T* result) {
  if (geometry.out_channels != 1 || geometry.groups < num_threads() || !takes_planes<T>(geometry))
    return false;
  const auto& [rows, columns] = geometry.axes;
  const PlaneKernels<T>& kernels = best_kernels<T>();
  const PaddedPlane plane_size(geometry, kernels);
  const int64_t kernel = geometry.kernel_size();
  const int64_t work = geometry.batch * geometry.output_plane() * kernel;
  parallel_for(
      0, geometry.groups, std::max<int64_t>(1, kThreadWork / std::max<int64_t>(work, 1)),
      [&](int64_t begin, int64_t end) {
        T* const padded = plane_size.zeros(kernels);
        std::fill(result + begin * kernel, result + end * kernel, T(0));
        for (int64_t image = 0; image < geometry.batch; ++image)
          for (int64_t group = begin; group < end; ++group) {
            check_interrupt();
            const int64_t plane = image * geometry.groups + group;
            kernels.pad(geometry,
                        {input + plane * geometry.input_plane(), rows.input, columns.input, 1, 1},
                        plane_size.pitch, padded);
            kernels.add_grad({geometry, padded, plane_size.pitch,
                              grad + plane * geometry.output_plane(), result + group * kernel});
          }
      });
  return true;
}
template bool try_planes_weight_grad(const ConvGeometry&, const float*, const float*, float*);
template bool try_planes_weight_grad(const ConvGeometry&, const double*, const double*, double*);

template bool try_planes_grad(const ConvGeometry&, const float*, const float*, float*);
template bool try_planes_grad(const ConvGeometry&, const double*, const double*, double*);

template bool try_planes(const ConvGeometry&, const float*, const float*, const float*, float*);
template bool try_planes(const ConvGeometry&, const double*, const double*, const double*, double*);

}  // namespace flambeau::cpu
