#include "kernels/fft.h"

#include <algorithm>
#include <vector>

#include "core/geometry/arguments.h"
#include "core/tensor/tensor.h"
#include "cpu/fft/parts.h"
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
    if (are_whole_lines(n / 2, in, out))
      return transform_real_lines<T>(*plan, in, out, lines, static_cast<T>(scale));
    if (is_tiled(*plan->half, lines))
      return transform_tiles<T>(*plan->half, in, out, lines, task, {nullptr, plan.get()});
    for_groups<T>(*plan->half, 1, lines, n, [&](int64_t first, int64_t count, T* memory) {
      transform<T>(*plan->half, in.from(first), lines_apart(memory, n), count, {false, 1});
      for (int64_t v = 0; v < count; ++v)
        split_pairs(*plan, memory + v * n, out.line(first + v), out.step, static_cast<T>(scale));
    });
    return;
  }
  const auto plan = plan_of<T>(n);
  if (is_tiled(*plan, lines)) return transform_tiles<T>(*plan, in, out, lines, task);
  for_groups<T>(*plan, 1, lines, 2 * n, [&](int64_t first, int64_t count, T* memory) {
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

/// All numbers of the transforms of real ones; false where lines are not transformed in tiles.
template <class T>
bool real_to_whole(const Tensor& result, const Tensor& self, IntList order, int64_t dim,
                   bool forward, double scale) {
  const int64_t n = self.size(dim), lines = self.numel() / n;
  const Lines<T> out = complex_lines<T>(result, order, dim);
  const Lines<const T> in = real_lines<const T>(self, order, dim, n % 2 == 0);
  const Task task{!forward, scale, Half::completed};
  const auto run = [&](const Plan<T>& plan, Kind<T> kind) {
    if (!is_tiled(plan, lines)) return false;
    transform_tiles<T>(plan, in, out, lines, task, kind);
    return true;
  };
  if (n % 2 == 1) return run(*plan_of<T>(n), {});
  const auto plan = real_plan_of<T>(n);
  return run(*plan->half, {nullptr, plan.get()});
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
    for_groups<T>(*plan->half, 1, lines, n, [&](int64_t first, int64_t count, T* memory) {
      for (int64_t v = 0; v < count; ++v)
        join_pairs(*plan, in.line(first + v), in.step, memory + v * n);
      transform<T>(*plan->half, lines_apart(memory, n).read(), out.from(first), count,
                   {true, scale});
    });
    return;
  }
  const auto plan = plan_of<T>(n);
  if (is_tiled(*plan, lines)) return transform_tiles<T>(*plan, in, out, lines, task);
  for_groups<T>(*plan, 1, lines, 2 * n, [&](int64_t first, int64_t count, T* memory) {
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

template <class T>
void along_dims(const Tensor& result, const Tensor& self, IntList dims, bool inverse, double scale,
                IntList order) {
  bool is_first = true;
  for (int64_t dim : dims) {
    const int64_t n = result.size(dim);
    transform<T>(*plan_of<T>(n), complex_lines<const T>(is_first ? self : result, order, dim),
                 complex_lines<T>(result, order, dim), result.numel() / n,
                 {inverse, is_first ? scale : 1});
    is_first = false;
  }
}

/// The numbers [0, n / 2] along `dim` of a transform of real numbers are known.
template <class T>
struct Halved {
  const Tensor& whole;
  const Dims& dims;
  IntList order;
  int64_t dim, n = whole.size(dim), half = n / 2 + 1;

  /// The one of the dims that is innermost.
  Halved(const Tensor& result, const Dims& all_dims, IntList in_order)
      : whole(result), dims(all_dims), order(in_order), dim(innermost(all_dims, in_order)) {}
  Tensor known() const {
    Shape sizes(whole.sizes());
    sizes[static_cast<size_t>(dim)] = half;
    return make_view(whole, sizes, whole.strides(), whole.offset());
  }
  /// The others are conjugates of those at the opposite places of all dims. Then, of an inverse
  /// transform, all are conjugated.
  void complete(bool forward) const {
    const Lines<T> lines = complex_lines<T>(whole, order, dim);
    std::vector<bool> turns;
    for (int64_t d : order)
      if (d != dim) turns.push_back(std::find(dims.begin(), dims.end(), d) != dims.end());
    const int64_t count = whole.numel() / n, grain = std::max<int64_t>(1, kGrain / n);
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        T* const to = lines.line(line);
        const T* const from = lines.base + opposite(lines.grid, turns, line);
        for (int64_t k = half; k < n; ++k) {
          to[k * lines.step] = from[(n - k) * lines.step];
          const T im = from[(n - k) * lines.step + 1];
          to[k * lines.step + 1] = forward ? T(0) - im : im;  // which is no -0
        }
      }
    });
    if (forward) return;
    parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        T* const numbers = lines.line(line);
        for (int64_t k = 0; k < half; ++k)
          numbers[k * lines.step + 1] = T(0) - numbers[k * lines.step + 1];
      }
    });
  }

 private:
  static int64_t innermost(const Dims& dims, IntList order) {
    for (size_t i = order.size(); i-- > 0;)
      if (std::find(dims.begin(), dims.end(), order[i]) != dims.end()) return order[i];
    return *dims.begin();
  }
  /// Where the line begins that has the opposite places of a line in the dims of `turns`.
  static int64_t opposite(const Grid& grid, const std::vector<bool>& turns, int64_t number) {
    int64_t result = 0;
    for (size_t d = grid.sizes.size(); d-- > 0;) {
      const int64_t place = number % grid.sizes[d];
      result += (turns[d] && place > 0 ? grid.sizes[d] - place : place) * grid.steps[d];
      number /= grid.sizes[d];
    }
    return result;
  }
};

}  // namespace

void fft_real(const Tensor& result, const Tensor& self, const Dims& dims, bool forward,
              double scale, IntList order) {
  if (result.numel() == 0) return;
  if (dims.empty()) return copy_data(result, self);
  with_real(result.dtype(), [&]<class T>() {
    if (dims.size() == 1 && real_to_whole<T>(result, self, order, *dims.begin(), forward, scale))
      return;
    const Halved<T> halved(result, dims, order);
    real_to_complex<T>(result, self, order, halved.dim, scale);
    const Tensor known = halved.known();
    Shape others;
    for (int64_t dim : dims)
      if (dim != halved.dim) others.push_back(dim);
    along_dims<T>(known, known, others, false, 1, order);
    halved.complete(forward);
  });
}

void fft_c2c(const Tensor& result, const Tensor& self, const Dims& dims, bool forward, double scale,
             IntList order) {
  if (result.numel() == 0) return;
  if (dims.empty()) return copy_data(result, self);
  with_real(result.dtype(), [&]<class T>() {
    const DimsByParts parts(result, {dims.begin(), dims.end()}, order);
    for_parts(result, self, parts.inner, order, [&](const Tensor& from, const Tensor& to) {
      along_dims<T>(to, from, parts.inner, !forward, scale, order);
    });
    along_dims<T>(result, result, parts.last, !forward, 1, order);
  });
}

void fft_half(const Tensor& result, const Tensor& self, Dim dim, const Dims& others, double scale,
              IntList order) {
  if (result.numel() == 0) return;
  Shape dims{dim};
  for (int64_t other : others) dims.push_back(other);
  with_real(result.dtype(), [&]<class T>() {
    const DimsByParts parts(result, dims, order);
    for_parts(result, self, parts.inner, order, [&](const Tensor& from, const Tensor& to) {
      real_to_complex<T>(to, from, order, dim, scale);
      along_dims<T>(to, to, IntList(parts.inner).subspan(1), false, 1, order);
    });
    along_dims<T>(result, result, parts.last, false, 1, order);
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
