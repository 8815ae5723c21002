#include <cstring>
#include <type_traits>

#include "cpu/linalg/vector.h"
#include "cpu/short_rows.h"
#include "cpu/walk.h"
#include "kernels/shape.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Elements that are reversed in a register.
template <class T>
struct Reversed {
  static constexpr int kBytes = sizeof(T) < 4 ? 16 : kVectorBytes;
  static constexpr int64_t kCount = kBytes / static_cast<int>(sizeof(T));
  typedef T Numbers __attribute__((vector_size(kBytes), may_alias));
  typedef T Unaligned __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  /// to[i] = last[-i]
  static FLAMBEAU_INLINE void copy(T* to, const T* last) {
    Numbers places;
    for (int64_t i = 0; i < kCount; ++i) places[i] = static_cast<T>(kCount - 1 - i);
    const Numbers found = *reinterpret_cast<const Unaligned*>(last - (kCount - 1));
    *reinterpret_cast<Unaligned*>(to) = __builtin_shuffle(found, places);
  }
};

/// to[i] = last[-i]
template <class T>
FLAMBEAU_INLINE void reverse_row(T* to, const T* last, int64_t count) {
  if constexpr (sizeof(T) <= 8) {
    constexpr int64_t block = Reversed<T>::kCount;
    if (count >= block) {
      for (int64_t i = 0; i + block < count; i += block) Reversed<T>::copy(to + i, last - i);
      return Reversed<T>::copy(to + count - block, last - (count - block));
    }
  }
  for (int64_t i = 0; i < count; ++i) to[i] = last[-i];
}

/// A run of elements, any strides in bytes.
template <class T>
void copy_run(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  constexpr auto bytes = static_cast<int64_t>(sizeof(T));
  T* const row = reinterpret_cast<T*>(to);
  const T* const source = reinterpret_cast<const T*>(from);
  if (to_step == bytes && from_step == bytes) {
    memcpy(to, from, static_cast<size_t>(count * bytes));
  } else if (to_step == bytes && from_step == -bytes) {
    reverse_row(row, source, count);
  } else {
    for (int64_t i = 0; i < count; ++i, to += to_step, from += from_step)
      *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
  }
}

/// Short rows of elements next to each other, `is_turned`: that are reversed; any steps between
/// rows, in bytes. Of very few elements their number is known when compiling.
template <class T>
void copy_rows(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
               int64_t count, bool is_turned) {
  const auto each = [&](const auto& copy) {
    for (int64_t r = 0; r < rows; ++r, to += to_step, from += from_step)
      copy(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from));
  };
  if (is_turned) return each([&](T* row, const T* last) { reverse_row(row, last, count); });
  const auto few = [&](auto known) {
    each([&](T* row, const T* source) { memcpy(row, source, known * sizeof(T)); });
  };
  switch (count) {
    case 1:
      return few(std::integral_constant<size_t, 1>());
    case 2:
      return few(std::integral_constant<size_t, 2>());
    case 3:
      return few(std::integral_constant<size_t, 3>());
    case 4:
      return few(std::integral_constant<size_t, 4>());
    default:
      return each([&](T* row, const T* source) { copy_row(row, source, count); });
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
  constexpr int64_t kShort = 1024;  // bytes of a row that is not worth a call
  const bool is_turned = walk.from[0] == -bytes;
  const bool are_rows = walk.to[0] == bytes && (walk.from[0] == bytes || is_turned);
  if (walk.rank > 1 && are_rows && walk.extent[0] * bytes < kShort) {
    const Walk rows = walk.outer();
    const int64_t count = walk.extent[0],
                  grain = std::max<int64_t>(1, kCopyGrain / (count * bytes));
    return with_size(bytes, [&](auto element) {
      parallel_for(0, rows.numel, grain, [&](int64_t begin, int64_t end) {
        rows.for_runs(begin, end, [&](int64_t to_offset, int64_t from_offset, int64_t run) {
          copy_rows<decltype(element)>(to + to_offset, rows.to[0], from + from_offset, rows.from[0],
                                       run, count, is_turned);
        });
      });
    });
  }
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
