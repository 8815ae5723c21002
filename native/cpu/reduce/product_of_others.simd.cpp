#include "cpu/reduce/product_of_others.h"
#include "cpu/blocks.h"
#include "cpu/nn/conv_types.h"
#include "kernels/reduction.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class T>
void others(T* out, const T* x, const DimBlocks& blocks) {
  constexpr int64_t kWidth = 256;
  const int64_t n = blocks.size, inner = blocks.inner;
  if (inner == 1) {
    return for_rows(blocks.outer, n, 2, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) others_of_row(out + o * n, x + o * n, n, WideOf<T>(1));
    });
  }
  const int64_t parts = (inner + kWidth - 1) / kWidth;
  for_rows(blocks.outer * parts, n * std::min(kWidth, inner), 2, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t column = part % parts * kWidth, at = part / parts * n * inner + column;
      others_of_columns(out + at, x + at, n, inner, std::min(kWidth, inner - column), WideOf<T>(1));
    }
  });
}

}  // namespace

void product_of_others(const Tensor& result, const Tensor& self, Dim dim) {
  if (result.numel() == 0) return;
  const DimBlocks blocks(self.sizes(), dim);
  const Tensor dense = contiguous_data(self);
  const auto run = [&](auto zero, const Tensor& out, const Tensor& x) {
    using T = decltype(zero);
    others(out.data<T>(), x.data<T>(), blocks);
  };
  if (result.dtype() == DType::complex64) return run(complex<float>(), result, dense);
  if (result.dtype() == DType::complex128) return run(complex<double>(), result, dense);
  with_float_compute("prod", result, run, dense);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
