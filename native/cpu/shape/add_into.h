#pragma once

#include <numeric>

#include "core/threads/parallel.h"
#include "cpu/dtype_switch.h"
#include "cpu/walk.h"

namespace flambeau::cpu {

/// The elements of both, those of `destination` in the order of memory: of dims with the same
/// stride there the longest one innermost.
inline Walk walk_into(const Tensor& destination, const Tensor& source) {
  const size_t rank = destination.sizes().size();
  size_t order[kMaxDims];
  std::iota(order, order + rank, size_t{0});
  std::stable_sort(order, order + rank, [&](size_t a, size_t b) {
    const int64_t first = std::abs(destination.strides()[a]);
    const int64_t second = std::abs(destination.strides()[b]);
    return first != second ? first > second : destination.sizes()[a] < destination.sizes()[b];
  });
  Shape sizes, to, from;
  for (size_t d = 0; d < rank; ++d) {
    sizes.push_back(destination.sizes()[order[d]]);
    to.push_back(destination.strides()[order[d]]);
    from.push_back(source.strides()[order[d]]);
  }
  const auto bytes = static_cast<int64_t>(destination.itemsize());
  Walk walk;
  walk.build(sizes, to, bytes, &from, bytes);
  return walk;
}

/// destination += source, where elements of `destination` may share memory. Threads share out the
/// outermost dim where its parts share none.
inline void add_into(const Tensor& destination, const Tensor& source, const char* op) {
  check(destination.sizes() == source.sizes(), ErrorKind::runtime, op, "(): a gradient of shape ",
        source.sizes(), " for a view of shape ", destination.sizes());
  if (source.numel() == 0) return;
  const Walk walk = walk_into(destination, source);
  const int64_t parts = walk.extent[walk.rank - 1], part = walk.numel / parts;
  int64_t reach = static_cast<int64_t>(destination.itemsize());  // of a part, in bytes
  for (int d = 0; d + 1 < walk.rank; ++d) reach += (walk.extent[d] - 1) * std::abs(walk.to[d]);
  const bool are_apart = std::abs(walk.to[walk.rank - 1]) >= reach;
  visit_dtype(source.dtype(), [&]<class T>() {
    const auto add = [&](int64_t begin, int64_t end) {
      const int64_t to_step = walk.to[0] / static_cast<int64_t>(sizeof(T));
      const int64_t from_step = walk.from[0] / static_cast<int64_t>(sizeof(T));
      walk.for_runs(begin * part, end * part, [&](int64_t to, int64_t from, int64_t count) {
        T* const sum = destination.data<T>() + to / static_cast<int64_t>(sizeof(T));
        const T* const added = source.data<T>() + from / static_cast<int64_t>(sizeof(T));
        if (to_step == 1 && from_step == 1) {
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) sum[i] = plus(sum[i], added[i]);
        } else if (to_step == 1) {
#pragma omp simd
          for (int64_t i = 0; i < count; ++i) sum[i] = plus(sum[i], added[i * from_step]);
        } else {
          for (int64_t i = 0; i < count; ++i)
            sum[i * to_step] = plus(sum[i * to_step], added[i * from_step]);
        }
      });
    };
    if (!are_apart) return add(0, parts);
    parallel_for(0, parts, std::max<int64_t>(1, kGrain / part), add);
  });
}

}  // namespace flambeau::cpu
