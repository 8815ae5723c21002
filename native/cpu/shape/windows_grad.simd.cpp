#include <vector>

#include "core/threads/parallel.h"
#include "cpu/dtype_switch.h"
#include "kernels/convolution.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Rows of images, each the sum of the parts of windows that lie there.
template <class T>
class RowSums {
 public:
  RowSums(const Tensor& result, const Tensor& grad, const Ints<2>& stride, const Ints<2>& dilation)
      : out_(result.data<T>()),
        from_(grad.data<T>()),
        sizes_(grad.sizes()),
        strides_(grad.strides()),
        lead_(sizes_.size() - 4),
        height_(result.size(-2)),
        width_(result.size(-1)),
        down_(stride[0]),
        across_(stride[1]),
        dilation_(dilation),
        pitch_((width_ + across_ - 1) / across_),
        sums_(static_cast<size_t>(across_ * pitch_)) {}

  /// Rows [begin, end) of all images.
  void write(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (row == begin || row % height_ == 0) image_ = from_ + offset_of(row / height_);
      std::fill(sums_.begin(), sums_.end(), C{});
      add_windows(row % height_);
      interleave(out_ + row * width_);
    }
  }

 private:
  using C = Collected<T>;

  int64_t size(size_t d) const { return sizes_[lead_ + d]; }
  int64_t step(size_t d) const { return strides_[lead_ + d]; }

  int64_t offset_of(int64_t image) const {
    int64_t offset = 0;
    for (size_t d = lead_; d-- > 0; image /= sizes_[d]) offset += image % sizes_[d] * strides_[d];
    return offset;
  }

  void add_windows(int64_t y) {
    for (int64_t r = 0; r < size(2); ++r) {
      const int64_t above = y - r * dilation_[0];
      if (above < 0 || above % down_ != 0 || above / down_ >= size(0)) continue;
      const T* const line = image_ + above / down_ * step(0) + r * step(2);
      for (int64_t s = 0; s < size(3); ++s) {
        const int64_t place = s * dilation_[1];
        add(sums_.data() + place % across_ * pitch_ + place / across_, line + s * step(3));
      }
    }
  }

  void add(C* to, const T* from) const {
    const int64_t count = size(1), apart = step(1);
    if (apart == 1) {
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) to[j] = plus(to[j], C(from[j]));
    } else {
      for (int64_t j = 0; j < count; ++j) to[j] = plus(to[j], C(from[j * apart]));
    }
  }

  /// The sums of columns that are a stride apart lie together.
  void interleave(T* out) const {
    const C *const first = sums_.data(), *const second = first + pitch_;
    if (across_ == 2) {
      const int64_t pairs = width_ / 2;
#pragma omp simd
      for (int64_t j = 0; j < pairs; ++j) {
        out[2 * j] = T(first[j]);
        out[2 * j + 1] = T(second[j]);
      }
      if (width_ % 2 == 1) out[width_ - 1] = T(first[pairs]);
      return;
    }
    for (int64_t phase = 0; phase < std::min(across_, width_); ++phase)
      for (int64_t x = phase, j = 0; x < width_; x += across_, ++j)
        out[x] = T(first[phase * pitch_ + j]);
  }

  T* const out_;
  const T *const from_, *image_ = nullptr;
  const Shape sizes_, strides_;  // [*, h', w', r, s]
  const size_t lead_;
  const int64_t height_, width_, down_, across_;
  const Ints<2> dilation_;
  const int64_t pitch_;  // of the sums of a column of each step
  std::vector<C> sums_;
};

}  // namespace

void windows_grad(const Tensor& result, const Tensor& grad_output, IntList, const Ints<2>& stride,
                  const Ints<2>& dilation) {
  if (result.numel() == 0) return;
  const int64_t rows = result.numel() / result.size(-1);
  const int64_t cost = std::max<int64_t>(1, (result.numel() + grad_output.numel()) / rows);
  visit_dtype(result.dtype(), [&]<class T>() {
    parallel_for(0, rows, std::max<int64_t>(1, kGrain / cost), [&](int64_t begin, int64_t end) {
      RowSums<T>(result, grad_output, stride, dilation).write(begin, end);
    });
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
