#pragma once

#include "core/tensor/tensor.h"
#include "cpu/dtype_switch.h"

namespace flambeau::cpu {

/// The real or the imaginary parts of a complex tensor, dense.
template <class C>
Tensor part_of(const Tensor& tensor, bool imaginary) {
  using T = typename C::value_type;
  const Tensor dense = contiguous_data(tensor), result = empty(tensor.sizes(), dtype_of<T>);
  const C* from = dense.data<C>();
  T* to = result.data<T>();
  for (int64_t i = 0; i < dense.numel(); ++i) to[i] = imaginary ? from[i].im : from[i].re;
  return result;
}

/// A product of complex tensors by four of real ones: multiply(result, a, b) sets a real result.
template <class C, class Multiply>
void multiply_parts(const Tensor& result, const Tensor& a, const Tensor& b,
                    const Multiply& multiply) {
  using T = typename C::value_type;
  const Tensor a_re = part_of<C>(a, false), a_im = part_of<C>(a, true);
  const Tensor b_re = part_of<C>(b, false), b_im = part_of<C>(b, true);
  const auto product = [&](const Tensor& x, const Tensor& y) {
    const Tensor out = empty(result.sizes(), dtype_of<T>);
    multiply(out, x, y);
    return out;
  };
  const Tensor rr = product(a_re, b_re), ii = product(a_im, b_im), ri = product(a_re, b_im),
               ir = product(a_im, b_re);
  C* out = result.data<C>();
  for (int64_t i = 0; i < result.numel(); ++i)
    out[i] = {rr.data<T>()[i] - ii.data<T>()[i], ri.data<T>()[i] + ir.data<T>()[i]};
}

/// Whether the result is complex, and has been computed by parts.
template <class Multiply>
bool computed_by_parts(const Tensor& result, const Tensor& a, const Tensor& b,
                       const Multiply& multiply) {
  if (result.dtype() == DType::complex64) {
    multiply_parts<complex<float>>(result, a, b, multiply);
    return true;
  }
  if (result.dtype() == DType::complex128) {
    multiply_parts<complex<double>>(result, a, b, multiply);
    return true;
  }
  return false;
}

}  // namespace flambeau::cpu
