#include <cstring>

#include "cpu/walk.h"
#include "kernels/shape.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// A run of elements, any strides in bytes.
template <class T>
void copy_run(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  constexpr auto bytes = static_cast<int64_t>(sizeof(T));
  T* const row = reinterpret_cast<T*>(to);
  const T* const source = reinterpret_cast<const T*>(from);
  if (to_step == bytes && from_step == bytes) {
    memcpy(to, from, static_cast<size_t>(count * bytes));
  } else if (to_step == bytes && from_step == -bytes) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) row[i] = source[-i];
  } else {
    for (int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
      *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
  }
}

}  // namespace

void flip(const Tensor& result, const Tensor& self, const Dims& dims) {
  if (result.numel() == 0) return;
  const auto bytes = static_cast<int64_t>(self.itemsize());
  Shape strides = self.strides();
  int64_t offset = 0;
  if (self.dim() > 0) {
    for (const int64_t dim : dims) {
      const size_t d = static_cast<size_t>(dim);
      offset += (self.sizes()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
  }
  Walk walk;
  walk.build(result.sizes(), result.strides(), bytes, &strides, bytes);
  char* const to = result.data<char>();
  const char* const from = self.data<const char>() + offset * bytes;
  with_size(bytes, [&](auto element) {
    parallel_for(0, walk.numel, kCopyGrain / bytes, [&](int64_t begin, int64_t end) {
      walk.for_runs(begin, end, [&](int64_t to_offset, int64_t from_offset, int64_t count) {
        copy_run<decltype(element)>(to + to_offset, walk.to[0], from + from_offset, walk.from[0],
                                    count);
      });
    });
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
