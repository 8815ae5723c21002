#include "cpu/sort/run_kernels.h"

#include <algorithm>
#include <type_traits>

#include "core/types/dtype.h"
#include "core/types/element_types.h"
#include "cpu/sort/packing.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class T>
FLAMBEAU_INLINE bool begins(const T* data, int64_t i) {
  return !(data[i - 1] == data[i]);
}

template <class T>
int64_t count(const T* data, int64_t begin, int64_t end) {
  const int64_t first = begin == 0 && begin < end ? 1 : begin;
  int differing = 0;
#pragma omp simd reduction(+ : differing)
  for (int64_t i = first; i < end; ++i) differing += begins(data, i);
  return first - begin + differing;
}

#if defined(__AVX2__)

/// Words as vectors pack them, of numbers that have such a size.
template <class T>
using WordOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
inline constexpr bool is_packed = std::is_arithmetic_v<T> && sizeof(T) >= 4;

/// Bit i: whether lane i is the same number in both, as NaN is not.
template <class T>
FLAMBEAU_INLINE uint32_t lanes_same(Vector<WordOf<T>> a, Vector<WordOf<T>> b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ);
  if constexpr (std::is_same_v<T, double>)
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
#else
  if constexpr (std::is_same_v<T, float>)
    return sign_bits<uint32_t>((Vector<uint32_t>)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_EQ_OQ));
  if constexpr (std::is_same_v<T, double>)
    return sign_bits<uint64_t>((Vector<uint64_t>)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_EQ_OQ));
#endif
  return lanes_equal<WordOf<T>>(a, b);
}

#endif

template <class T>
void values(T* to, int64_t room, const T* data, int64_t begin, int64_t end) {
  int64_t i = begin, found = 0;
  if (i == 0 && i < end) to[found++] = data[i++];
#if defined(__AVX2__)
  if constexpr (is_packed<T>) {
    using Word = WordOf<T>;
    constexpr int lanes = kLanes<Word>;
    const auto* const words = reinterpret_cast<const Word*>(data);
    // A whole vector is written: what is too much is written again.
    for (; i + lanes <= end && found + lanes <= room; i += lanes) {
      const Vector<Word> next = load(words + i);
      const uint32_t same = lanes_same<T>(next, load(words + i - 1));
      const uint32_t other = ~same & static_cast<uint32_t>((uint64_t{1} << lanes) - 1);
      store(reinterpret_cast<Word*>(to) + found, pack<Word>(next, other));
      found += __builtin_popcount(other);
    }
  }
#endif
  // Without a branch, which would be foreseen badly; there is no place behind the last one.
  for (; i < end && found < room; ++i) {
    const bool is_first = begins(data, i);
    to[found] = data[i];
    found += is_first;
  }
}

template <class T>
void places(int64_t* run_of, int64_t* starts, int64_t run, int64_t last, const T* data,
            int64_t begin, int64_t end) {
  int64_t i = begin;
  for (; i < end && run < last; ++i) {
    const bool is_first = i == 0 || begins(data, i);
    starts[run] = i;
    run += is_first;
    run_of[i] = run - 1;
  }
  std::fill(run_of + i, run_of + std::max(i, end), run - 1);
}

}  // namespace

template <class T>
const RunKernels<T>& run_kernels() {
  static constexpr RunKernels<T> kernels{&count<T>, &values<T>, &places<T>};
  return kernels;
}
#define FLAMBEAU_OF_DTYPE(name, type, ...) template const RunKernels<InMemory<type>>& run_kernels();
FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_OF_DTYPE)
#undef FLAMBEAU_OF_DTYPE

}  // namespace flambeau::cpu::FLAMBEAU_ISA
