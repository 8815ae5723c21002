#pragma once

/// Random numbers of elements. How element i reads the stream is the same on every backend: a
/// counter gives four words; 32-bit draws take word i % 4 of counter i / 4, 64-bit draws words
/// 2 (i % 2) and the next of counter i / 2. Normal numbers come in pairs from two uniform ones
/// (Box-Muller): the even element is the cosine, the odd one the sine.

#include "core/base/macros.h"
#include "core/random/random.h"
#include "core/types/kernel_types.h"

namespace flambeau::cuda {

namespace detail {

/// Word k of four, without an array in local memory.
__device__ inline uint32_t pick(const RandomWords& words, uint32_t k) {
  const uint32_t low = (k & 1) != 0 ? words.word[1] : words.word[0];
  const uint32_t high = (k & 1) != 0 ? words.word[3] : words.word[2];
  return (k & 2) != 0 ? high : low;
}

/// Elements that share a counter.
template <class Draw>
inline constexpr uint32_t kPerCounter = sizeof(typename Draw::Value) == 4 ? 4 : 2;

template <class Draw>
struct Value;
template <>
struct Value<Uniform<float>> {
  static __device__ float of(const RandomWords& words, uint32_t k) {
    return uniform_float(pick(words, k));
  }
};
template <>
struct Value<Uniform<double>> {
  static __device__ double of(const RandomWords& words, uint32_t k) {
    return k == 0 ? uniform_double(words.word[0], words.word[1])
                  : uniform_double(words.word[2], words.word[3]);
  }
};
template <>
struct Value<Normal<float>> {
  static __device__ float of(const RandomWords& words, uint32_t k) {
    const uint32_t first = k < 2 ? words.word[0] : words.word[2];
    const uint32_t second = k < 2 ? words.word[1] : words.word[3];
    const float radius = sqrtf(-2.f * logf(positive_uniform_float(first)));
    const float half_turns = 2.f * uniform_float(second);
    return radius * ((k & 1) != 0 ? sinpif(half_turns) : cospif(half_turns));
  }
};
template <>
struct Value<Normal<double>> {
  static __device__ double of(const RandomWords& words, uint32_t k) {
    const double radius = sqrt(-2. * log(positive_uniform_double(words.word[0], words.word[1])));
    const double half_turns = 2. * uniform_double(words.word[2], words.word[3]);
    return radius * (k != 0 ? sinpi(half_turns) : cospi(half_turns));
  }
};
template <>
struct Value<Bits> {
  static __device__ uint64_t of(const RandomWords& words, uint32_t k) {
    return k == 0 ? static_cast<uint64_t>(words.word[1]) << 32 | words.word[0]
                  : static_cast<uint64_t>(words.word[3]) << 32 | words.word[2];
  }
};

/// Draws of elements [index, index + kCount), index a multiple of kCount or kCount == 1.
template <class Draw, int kCount>
__device__ __forceinline__ void draw_run(const RandomStream& stream, uint64_t index, uint32_t draw,
                                         typename Draw::Value* values) {
  constexpr uint32_t kPer = kPerCounter<Draw>;
  RandomWords words;
#pragma unroll
  for (uint32_t j = 0; j < kCount; ++j) {
    if (j % kPer == 0) words = random_words(stream, (index + j) / kPer, draw);
    const uint32_t k = kCount % kPer == 0 ? j % kPer : static_cast<uint32_t>(index + j) % kPer;
    values[j] = Value<Draw>::of(words, k);
  }
}

}  // namespace detail
}  // namespace flambeau::cuda
