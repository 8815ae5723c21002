#include "cpu/channels_last.h"
#include "cpu/math.h"
#include "cpu/nn/group_norm_pixels.h"

#include "core/math/powers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class T>
void forward(const Tensor& result, const Tensor& average, const Tensor& rstd, const Tensor& input,
             const Tensor& weight, const Tensor& bias, double eps) {
  using C = Compute<T>;
  const Groups groups(input, average);
  const Tensor dense = contiguous_data(input);
  const Tensor weights = values_in<C>(weight), biases = values_in<C>(bias);
  const C *w = data_of<C>(weights), *b = data_of<C>(biases);
  for_rows(groups.rows, groups.length(), 3, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = dense.data<T>() + r * groups.length();
      T* y = result.data<T>() + r * groups.length();
      const C mean = row_mean(x, groups.length());
      const C scale = math::rsqrt(row_variance(x, groups.length(), mean) + static_cast<C>(eps));
      average.data<C>()[r] = mean;
      rstd.data<C>()[r] = scale;
      const int64_t first = groups.channel(r);
      for (int64_t c = first; c < first + groups.together; ++c, x += groups.area, y += groups.area)
        scale_row(y, x, groups.area, mean, scale * at(w, c, C(1)), at(b, c, C(0)));
    }
  });
}

template <class T>
void grads(const Tensor& input_grad, const Tensor& weight_grad, const Tensor& bias_grad,
           const Tensor& grad_output, const Tensor& input, const Tensor& weight,
           const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Groups groups(input, average);
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  const Tensor averages = values_in<C>(average), rstds = values_in<C>(rstd);
  const Tensor weights = values_in<C>(weight);
  const C* const w = data_of<C>(weights);
  Shares<C> shares(groups);
  const int64_t area = groups.area, length = groups.length();
  for_rows(groups.rows, length, 4, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T *x = dense.data<T>() + r * length, *g = dense_grad.data<T>() + r * length;
      T* const y = input_grad.data<T>() + r * length;
      const int64_t first = groups.channel(r);
      const C mean = averages.data<C>()[r], scale = rstds.data<C>()[r];
      C sum = 0, product = 0;
      for (int64_t c = 0; c < groups.together; ++c) {
        C sums[2];
        sum_grads(x + c * area, g + c * area, area, mean, sums);
        shares.set(r * groups.together + c, sums[1] * scale, sums[0]);
        sum += at(w, first + c, C(1)) * sums[0];
        product += at(w, first + c, C(1)) * sums[1];
      }
      const C shift = scale * sum / C(length);
      const C slope = scale * scale * scale * product / C(length);
      for (int64_t c = 0; c < groups.together; ++c)
        grad_run(y + c * area, x + c * area, g + c * area, area, mean,
                 scale * at(w, first + c, C(1)), shift, slope);
    }
  });
  shares.finish(weight_grad, bias_grad);
}

}  // namespace

void group_norm_forward(const Tensor& result, const Tensor& average, const Tensor& rstd,
                        const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t,
                        double eps) {
  with_floating(input.dtype(), "group_norm", [&]<class T>() {
    if (!result.is_contiguous())
      return group_norm_pixels::forward<T>(Groups(input, average), pixel_rows(result), average,
                                           rstd, pixel_rows(input), weight, bias, eps);
    forward<T>(result, average, rstd, input, weight, bias, eps);
  });
}
void group_norm_grad(const Tensor& input_grad, const Tensor& weight_grad, const Tensor& bias_grad,
                     const Tensor& grad_output, const Tensor& input, const Tensor& weight,
                     const Tensor& average, const Tensor& rstd) {
  with_floating(input.dtype(), "group_norm", [&]<class T>() {
    if (!input_grad.is_contiguous())
      return group_norm_pixels::grads<T>(Groups(input, average), pixel_rows(input_grad),
                                         weight_grad, bias_grad, pixel_rows(grad_output),
                                         pixel_rows(input), weight, average, rstd);
    grads<T>(input_grad, weight_grad, bias_grad, grad_output, input, weight, average, rstd);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
