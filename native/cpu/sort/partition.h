#pragma once

// Include only from *.simd.cpp files.

#include <algorithm>

#include "core/threads/interrupt.h"
#include "cpu/sort/packing.h"

/// Words are divided by comparing with a limit: some stay in place, moved together, the others go
/// to other memory. A vector that is written ends before what was not read yet, here and there.
namespace flambeau::cpu::FLAMBEAU_ISA {

/// Which words go.
enum class Leaving { above, others };

namespace detail {

/// The state of a division.
template <Leaving leaving, class T>
class Division {
 public:
  Division(T* words, T* spare, T limit) : words_(words), spare_(spare), limit_(limit) {}
  /// Divides words [begin, end); all before were.
  void divide(int64_t begin, int64_t end) {
    T *stay = words_ + stay_, *leave = spare_ + (begin - stay_);
#if defined(__AVX2__)
    constexpr int lanes = kLanes<T>;
    constexpr uint32_t all = static_cast<uint32_t>((uint64_t{1} << lanes) - 1);
    const Vector<T> limits = splat(limit_);
    const auto staying = [&](Vector<T> words) __attribute__((always_inline)) {
      const uint32_t above = lanes_above<T>(words, limits);
      return leaving == Leaving::above ? above ^ all : above;
    };
    const auto take = [&](Vector<T> words) __attribute__((always_inline)) {
      const uint32_t set = staying(words);
      const int count = __builtin_popcount(set);
      store(stay, pack<T>(words, set));
      store(leave, pack<T>(words, set ^ all));
      stay += count;
      leave += lanes - count;
    };
    // Vectors are read ahead of those written, which processors might take for the same memory.
    for (; begin + 4 * lanes <= end; begin += 4 * lanes) {
      const T* const next = words_ + begin;
      const Vector<T> a = load(next), b = load(next + lanes), c = load(next + 2 * lanes),
                      d = load(next + 3 * lanes);
      take(a);
      take(b);
      take(c);
      take(d);
    }
    for (; begin + lanes <= end; begin += lanes) take(load(words_ + begin));
    if (const int64_t rest = end - begin; rest > 0) {
      const Vector<T> words = load_first(words_ + begin, rest, limits);
      const uint32_t known = (1u << rest) - 1, set = staying(words) & known;
      const int64_t count = __builtin_popcount(set);
      Mask<T>(count).store(stay, pack<T>(words, set));
      Mask<T>(rest - count).store(leave, pack<T>(words, set ^ known));
      stay += count;
    }
#else
    for (; begin < end; ++begin) {
      const T word = words_[begin];
      const bool stays = (word > limit_) != (leaving == Leaving::above);
      *stay = word;
      *leave = word;
      stay += stays;
      leave += !stays;
    }
#endif
    stay_ = stay - words_;
  }
  int64_t staying() const { return stay_; }

 private:
  T *words_, *spare_, limit_;
  int64_t stay_ = 0;
};

}  // namespace detail

/// Moves words above `limit`, or the others, to `spare`, which has room for `count`. How many stay.
template <Leaving leaving, class T>
int64_t partition(T* words, T* spare, int64_t count, T limit) {
  detail::Division<leaving, T> division(words, spare, limit);
  in_blocks(count, [&](int64_t begin, int64_t end) { division.divide(begin, end); });
  return division.staying();
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
