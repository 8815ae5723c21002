#pragma once

#include <cstdint>

#include "core/base/macros.h"

namespace flambeau {

/// Where one operator's random numbers come from: the generator's seed and the first counter of the
/// range that was reserved for it. The numbers of element i depend on (seed, offset, i) only, so
/// that any split over threads and any backend draws the same.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

/// Counters that an operator with `numel` elements reserves, whatever its dtype and its draws: a
/// counter gives four words, an element uses at most two of them per draw.
FLAMBEAU_HOST_DEVICE inline uint64_t counters_for(int64_t numel) {
  return (static_cast<uint64_t>(numel) + 1) / 2;
}

struct RandomWords {
  uint32_t word[4];
};

/// Philox4x32 with 10 rounds: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as
/// easy as 1, 2, 3", SC 2011. A bijection of the 128-bit counter under a 64-bit key.
FLAMBEAU_HOST_DEVICE inline RandomWords philox(uint32_t key0, uint32_t key1, RandomWords counter) {
  uint32_t c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * c0, product1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t next0 = static_cast<uint32_t>(product1 >> 32) ^ c1 ^ key0;
    const uint32_t next2 = static_cast<uint32_t>(product0 >> 32) ^ c3 ^ key1;
    c1 = static_cast<uint32_t>(product1);
    c3 = static_cast<uint32_t>(product0);
    c0 = next0;
    c2 = next2;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// The four words of `counter`; `draw` tells several draws of one element apart.
FLAMBEAU_HOST_DEVICE inline RandomWords random_words(const RandomStream& stream, uint64_t counter,
                                                     uint32_t draw) {
  counter += stream.offset;
  return philox(static_cast<uint32_t>(stream.seed), static_cast<uint32_t>(stream.seed >> 32),
                {{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), draw, 0}});
}

/// Uniform in [0, 1): 24 bits.
FLAMBEAU_HOST_DEVICE inline float uniform_float(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
}
/// Uniform in [0, 1): 53 bits.
FLAMBEAU_HOST_DEVICE inline double uniform_double(uint32_t low, uint32_t high) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32 | low) >> 11;
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-53;
}
/// Uniform in (0, 1]: what a logarithm may be taken of.
FLAMBEAU_HOST_DEVICE inline float positive_uniform_float(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8) + 1) * 0x1p-24f;
}
FLAMBEAU_HOST_DEVICE inline double positive_uniform_double(uint32_t low, uint32_t high) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32 | low) >> 11;
  return static_cast<double>(static_cast<int64_t>(bits) + 1) * 0x1p-53;
}

/// Uniform in [low, low + range), from 64 random bits; `range` > 0 as an unsigned number. The high
/// word of bits * range: its bias is below range / 2^64 (D. Lemire, "Fast random integer generation
/// in an interval", ACM TOMACS 29, 2019).
FLAMBEAU_HOST_DEVICE inline int64_t integer_in_range(uint64_t bits, int64_t low, uint64_t range) {
  __extension__ using Wide = unsigned __int128;
  const uint64_t place = static_cast<uint64_t>(static_cast<Wide>(bits) * range >> 64);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + place);
}

}  // namespace flambeau
