#include "cpu/sort/word_kernels.h"

#include "cpu/sort/quicksort.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class T>
int64_t leave_above(T* words, T* spare, int64_t count, T limit) {
  return partition<Leaving::above>(words, spare, count, limit);
}

/// 0, 1, ... from a number on.
template <class T>
Vector<T> numbers_from(T first) {
  Vector<T> numbers;
  for (int i = 0; i < kLanes<T>; ++i) numbers[i] = first + static_cast<T>(i);
  return numbers;
}

template <class T>
int64_t find(T* places, const T* words, int64_t count, T first, T low, T high, int64_t& below) {
  int64_t i = 0, found = 0, less = 0;
#if defined(__AVX2__)
  constexpr int lanes = kLanes<T>;
  const Vector<T> lows = splat(low), highs = splat(high);
  Vector<T> numbers = numbers_from(first);
  for (; i + lanes <= count; i += lanes, numbers += static_cast<T>(lanes)) {
    const Vector<T> next = load(words + i);
    const uint32_t under = lanes_above<T>(lows, next), over = lanes_above<T>(next, highs);
    const uint32_t inside = ~(under | over) & static_cast<uint32_t>((uint64_t{1} << lanes) - 1);
    less += __builtin_popcount(under);
    if (!inside) continue;
    store(places + found, pack<T>(numbers, inside));
    found += __builtin_popcount(inside);
  }
#endif
  for (; i < count; ++i) {
    places[found] = first + static_cast<T>(i);
    found += words[i] >= low && words[i] <= high;
    less += words[i] < low;
  }
  below += less;
  return found;
}

template <class T>
int64_t distinct(T* to, const T* words, int64_t begin, int64_t end) {
  int64_t i = begin, found = 0;
  if (i == 0 && i < end) to[found++] = words[i++];
#if defined(__AVX2__)
  constexpr int lanes = kLanes<T>;
  for (; i + lanes <= end; i += lanes) {
    const Vector<T> next = load(words + i);
    const uint32_t same = lanes_equal<T>(next, load(words + i - 1));
    const uint32_t other = ~same & static_cast<uint32_t>((uint64_t{1} << lanes) - 1);
    store(to + found, pack<T>(next, other));
    found += __builtin_popcount(other);
  }
#endif
  for (; i < end; ++i) {
    to[found] = words[i];
    found += words[i] != words[i - 1];
  }
  return found;
}

}  // namespace

template <class T>
const WordKernels<T>& word_kernels() {
  static constexpr WordKernels<T> kernels{kPacks ? &quicksort<T> : nullptr, &quickselect<T>,
                                          &leave_above<T>, &find<T>, &distinct<T>};
  return kernels;
}
template const WordKernels<uint32_t>& word_kernels();
template const WordKernels<uint64_t>& word_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
