#include "cpu/index/place_offsets.h"

#include "core/base/macros.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Indices are judged all together, by sign bits: a loop that may leave runs in no vectors. Words
/// wrap around, whatever an index is.
template <bool adds>
FLAMBEAU_INLINE bool find_offsets(int64_t* out, const int64_t* index, int64_t count, int64_t size,
                                  int64_t stride) {
  const auto extent = static_cast<uint64_t>(size), step = static_cast<uint64_t>(stride);
  uint64_t wrong = 0;
#pragma omp simd reduction(| : wrong)
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t place =
        static_cast<uint64_t>(index[i]) + (static_cast<uint64_t>(index[i] >> 63) & extent);
    wrong |= place | (extent - 1 - place);
    const uint64_t offset = place * step;
    out[i] = static_cast<int64_t>(adds ? static_cast<uint64_t>(out[i]) + offset : offset);
  }
  return static_cast<int64_t>(wrong) >= 0;
}

}  // namespace

bool write_offsets(int64_t* out, const int64_t* index, int64_t count, int64_t size,
                   int64_t stride) {
  return find_offsets<false>(out, index, count, size, stride);
}
bool add_offsets(int64_t* out, const int64_t* index, int64_t count, int64_t size, int64_t stride) {
  return find_offsets<true>(out, index, count, size, stride);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
