#include "kernels/fft.h"
#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"
#include "cpu/fft/transforms.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using namespace fft;
using ::flambeau::cpu::fft::plan_of;
using ::flambeau::cpu::fft::real_plan_of;

/// Calls function.operator()<T>() for the real type of a dtype.
template <class Function>
void with_real(DType dtype, const Function& function) {
  if (dtype == DType::complex64 || dtype == DType::float32) {
    function.template operator()<float>();
  } else {
    function.template operator()<double>();
  }
}

/// The memory of a dense tensor as real numbers.
template <class T>
T* reals(const Tensor& tensor) {
  if (is_complex(tensor.dtype())) return reinterpret_cast<T*>(tensor.data<complex<T>>());
  return tensor.data<T>();
}

/// The lines along a dim, in the order of the other dims. `width`: real numbers of an element.
template <class T>
Lines<T> lines_along(const Tensor& tensor, IntList order, int64_t dim, int64_t width) {
  Lines<T> lines{reals<std::remove_const_t<T>>(tensor), {}, 0, kNoImaginary};
  if (tensor.dim() == 0) return lines;
  for (int64_t d : order) {
    if (d == dim) continue;
    lines.grid.sizes.push_back(tensor.size(d));
    lines.grid.steps.push_back(width * tensor.stride(d));
  }
  lines.step = width * tensor.stride(dim);
  return lines;
}
template <class T>
Lines<T> complex_lines(const Tensor& tensor, IntList order, int64_t dim) {
  Lines<T> lines = lines_along<T>(tensor, order, dim, 2);
  lines.imag = 1;
  return lines;
}
/// Real numbers, alone or in pairs.
template <class T>
Lines<T> real_lines(const Tensor& tensor, IntList order, int64_t dim, bool in_pairs) {
  Lines<T> lines = lines_along<T>(tensor, order, dim, 1);
  if (in_pairs) {
    lines.imag = lines.step;
    lines.step *= 2;
  }
  return lines;
}

template <class T>
void real_to_complex(const Tensor& result, const Tensor& self, IntList order, int64_t dim,
                     double scale) {
  const int64_t n = self.size(dim), half = n / 2 + 1, lines = self.numel() / n;
  const Lines<T> out = complex_lines<T>(result, order, dim);
  const Lines<const T> in = real_lines<const T>(self, order, dim, n % 2 == 0);
  const Task task{false, scale, Half::written};
  if (n % 2 == 0) {
    const auto plan = real_plan_of<T>(n);
    if (is_tiled(*plan->half, lines))
      return transform_tiles<T>(*plan->half, in, out, lines, task, {nullptr, plan.get()});
    for_groups<T>(1, lines, n, [&](int64_t first, int64_t count, T* memory) {
      transform<T>(*plan->half, in.from(first), lines_apart(memory, n), count, {false, 1});
      for (int64_t v = 0; v < count; ++v)
        split_pairs(*plan, memory + v * n, out.line(first + v), out.step, static_cast<T>(scale));
    });
    return;
  }
  const auto plan = plan_of<T>(n);
  if (is_tiled(*plan, lines)) return transform_tiles<T>(*plan, in, out, lines, task);
  for_groups<T>(1, lines, 2 * n, [&](int64_t first, int64_t count, T* memory) {
    transform<T>(*plan, in.from(first), lines_apart(memory, 2 * n), count, {false, scale});
    for (int64_t v = 0; v < count; ++v) {
      const T* z = memory + 2 * v * n;
      T* line = out.line(first + v);
      for (int64_t k = 0; k < half; ++k) {
        line[k * out.step] = z[2 * k];
        line[k * out.step + 1] = z[2 * k + 1];
      }
    }
  });
}

template <class T>
void complex_to_real(const Tensor& result, const Tensor& self, IntList order, int64_t dim,
                     double scale) {
  const int64_t n = result.size(dim), half = self.size(dim), lines = result.numel() / n;
  const Lines<const T> in = complex_lines<const T>(self, order, dim);
  const Lines<T> out = real_lines<T>(result, order, dim, n % 2 == 0);
  const Task task{true, scale, Half::read};
  if (n % 2 == 0) {
    const auto plan = real_plan_of<T>(n);
    if (is_tiled(*plan->half, lines))
      return transform_tiles<T>(*plan->half, in, out, lines, task, {nullptr, plan.get()});
    for_groups<T>(1, lines, n, [&](int64_t first, int64_t count, T* memory) {
      for (int64_t v = 0; v < count; ++v)
        join_pairs(*plan, in.line(first + v), in.step, memory + v * n);
      transform<T>(*plan->half, lines_apart(memory, n).read(), out.from(first), count,
                   {true, scale});
    });
    return;
  }
  const auto plan = plan_of<T>(n);
  if (is_tiled(*plan, lines)) return transform_tiles<T>(*plan, in, out, lines, task);
  for_groups<T>(1, lines, 2 * n, [&](int64_t first, int64_t count, T* memory) {
    for (int64_t v = 0; v < count; ++v) {
      const T* line = in.line(first + v);
      T* z = memory + 2 * v * n;
      z[0] = line[0];
      z[1] = T(0);
      for (int64_t k = 1; k < half; ++k) {
        const T re = line[k * in.step], im = line[k * in.step + 1];
        z[2 * k] = z[2 * (n - k)] = re;
        z[2 * k + 1] = im;
        z[2 * (n - k) + 1] = -im;
      }
    }
    transform<T>(*plan, lines_apart(memory, 2 * n).read(), out.from(first), count, {true, scale});
  });
}

}  // namespace

void fft_c2c(const Tensor& result, const Tensor& self, const Dims& dims, bool forward, double scale,
             IntList order) {
  if (result.numel() == 0) return;
  if (dims.empty()) return copy_data(result, self);
  with_real(result.dtype(), [&]<class T>() {
    bool is_first = true;
    for (int64_t dim : dims) {
      const int64_t n = result.size(dim);
      transform<T>(*plan_of<T>(n), complex_lines<const T>(is_first ? self : result, order, dim),
                   complex_lines<T>(result, order, dim), result.numel() / n,
                   {!forward, is_first ? scale : 1});
      is_first = false;
    }
  });
}

void fft_r2c(const Tensor& result, const Tensor& self, Dim dim, double scale, IntList order) {
  if (result.numel() == 0) return;
  with_real(result.dtype(),
            [&]<class T>() { real_to_complex<T>(result, self, order, dim, scale); });
}

void fft_c2r(const Tensor& result, const Tensor& self, Dim dim, int64_t, double scale,
             IntList order) {
  if (result.numel() == 0) return;
  with_real(result.dtype(),
            [&]<class T>() { complex_to_real<T>(result, self, order, dim, scale); });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
