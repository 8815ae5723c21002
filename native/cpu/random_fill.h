#pragma once

/// Fills buffers with random numbers. How element i of a draw reads the stream (the same on every
/// backend): a counter gives four words; 32-bit draws take word i % 4 of counter i / 4, 64-bit
/// draws words 2 (i % 2) and the next of counter i / 2. Normal numbers come in pairs from two
/// uniform ones (Box-Muller): the even element is the cosine, the odd one the sine. The cosine is
/// computed as a shifted sine: compilers merge the two of one angle into sincos, which has no
/// vector form.

#include <algorithm>

#include "core/random/random.h"
#include "cpu/loops.h"
#include "cpu/math.h"

#include "core/math/exponentials.h"
#include "core/math/powers.h"
#include "core/math/trigonometry.h"

namespace flambeau::cpu::FLAMBEAU_ISA::detail {

inline int64_t draw_bytes(DrawKind kind) {
  return kind == DrawKind::uniform_float || kind == DrawKind::normal_float ? 4 : 8;
}

/// words[4 b + w] = word w of counter first + b.
inline void fill_words(uint32_t* __restrict words, const RandomStream& stream, uint64_t first,
                       uint32_t draw, int64_t counters) {
  const RandomStream copy = stream;
#pragma omp simd
  for (int64_t b = 0; b < counters; ++b) {
    const RandomWords block = random_words(copy, first + static_cast<uint64_t>(b), draw);
    words[4 * b] = block.word[0];
    words[4 * b + 1] = block.word[1];
    words[4 * b + 2] = block.word[2];
    words[4 * b + 3] = block.word[3];
  }
}

/// log of a number in (0, 1], as good as Box-Muller needs it.
FLAMBEAU_INLINE float box_muller_radius(float u) { return math::sqrt(-2.f * math::log(u)); }
FLAMBEAU_INLINE double box_muller_radius(double u) { return math::sqrt(-2. * math::log(u)); }

/// Bytes that fill_draw() may write beyond the elements asked for.
inline constexpr int64_t kDrawSlack = 512;

/// Fills buffer with draws of elements [begin, begin + count) and returns where they start in it;
/// count elements of the draw are at most 4096 bytes. Works on whole vectors: the scalar forms of
/// log and sin may differ in the last place.
inline char* fill_draw(char* buffer, DrawKind kind, const RandomStream& stream, uint32_t draw,
                       int64_t begin, int64_t count) {
  const bool is_short = draw_bytes(kind) == 4;
  const int64_t per_counter = is_short ? 4 : 2;
  const int64_t first = begin / per_counter;
  int64_t counters = (begin + count + per_counter - 1) / per_counter - first;
  counters = (counters + 15) / 16 * 16;
  const int64_t skipped = begin - first * per_counter;
  alignas(64) uint32_t words[1024 + 128];
  fill_words(words, stream, static_cast<uint64_t>(first), draw, counters);
  const int64_t elements = counters * per_counter;
  switch (kind) {
    case DrawKind::uniform_float: {
      float* out = reinterpret_cast<float*>(buffer);
      for (int64_t i = 0; i < elements; ++i) out[i] = uniform_float(words[i]);
      break;
    }
    case DrawKind::normal_float: {
      float* out = reinterpret_cast<float*>(buffer);
#pragma omp simd
      for (int64_t i = 0; i < elements / 2; ++i) {
        const float radius = box_muller_radius(positive_uniform_float(words[2 * i]));
        const float angle = 6.2831853f * uniform_float(words[2 * i + 1]);
        out[2 * i] = radius * math::sin(angle + 1.5707964f);
        out[2 * i + 1] = radius * math::sin(angle);
      }
      break;
    }
    case DrawKind::uniform_double: {
      double* out = reinterpret_cast<double*>(buffer);
      for (int64_t i = 0; i < elements; ++i)
        out[i] = uniform_double(words[2 * i], words[2 * i + 1]);
      break;
    }
    case DrawKind::normal_double: {
      double* out = reinterpret_cast<double*>(buffer);
#pragma omp simd
      for (int64_t i = 0; i < counters; ++i) {
        const double radius =
            box_muller_radius(positive_uniform_double(words[4 * i], words[4 * i + 1]));
        const double angle = 6.283185307179586 * uniform_double(words[4 * i + 2], words[4 * i + 3]);
        out[2 * i] = radius * math::sin(angle + 1.5707963267948966);
        out[2 * i + 1] = radius * math::sin(angle);
      }
      break;
    }
    case DrawKind::bits: {
      uint64_t* out = reinterpret_cast<uint64_t*>(buffer);
      for (int64_t i = 0; i < elements; ++i)
        out[i] = static_cast<uint64_t>(words[2 * i + 1]) << 32 | words[2 * i];
      break;
    }
  }
  return buffer + skipped * draw_bytes(kind);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::detail
