// Compiled once per instruction set; the version for the processor is registered. Everything stays
// inside this namespace, so that the linker cannot mix the versions.
#include "core/threads/parallel.h"
#include "kernels/example_operators/banded.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

namespace {

constexpr int64_t kRowsPerThread = 1 << 15;

/// Rows [begin, end), none of which is the first or the last.
template <class T>
void inner_rows(T* __restrict out, const T* bands, const T* vec, int64_t n, int64_t begin,
                int64_t end) {
  const T *lower = bands, *diagonal = bands + n, *upper = bands + 2 * n;
  for (int64_t i = begin; i < end; ++i) {
    out[i] = lower[i] * vec[i - 1] + diagonal[i] * vec[i] + upper[i] * vec[i + 1];
  }
}

template <class T>
void product(T* out, const T* bands, const T* vec, int64_t n) {
  parallel_for(1, n - 1, kRowsPerThread,
               [&](int64_t begin, int64_t end) { inner_rows(out, bands, vec, n, begin, end); });
  out[0] = bands[n] * vec[0];
  if (n == 1) return;
  out[0] += bands[2 * n] * vec[1];
  out[n - 1] = bands[n - 1] * vec[n - 2] + bands[2 * n - 1] * vec[n - 1];
}

}  // namespace

void tridiagonal_mv(const Tensor& result, const Tensor& bands, const Tensor& vec) {
  const Tensor dense_bands = contiguous_data(bands), dense_vec = contiguous_data(vec);
  const int64_t n = vec.numel();
  if (result.dtype() == DType::float32) {
    product(result.data<float>(), dense_bands.data<float>(), dense_vec.data<float>(), n);
  } else {
    product(result.data<double>(), dense_bands.data<double>(), dense_vec.data<double>(), n);
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
