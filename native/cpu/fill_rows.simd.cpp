#include "cpu/fill_rows.h"

#include "cpu/walk.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template <class Word>
void fill_rows(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t rows,
               int64_t length) {
  for (int64_t row = 0; row < rows; ++row, to += to_step, from += from_step) {
    Word* const out = reinterpret_cast<Word*>(to);
    const Word value = *reinterpret_cast<const Word*>(from);
#pragma omp simd
    for (int64_t i = 0; i < length; ++i) out[i] = value;
  }
}

#define FLAMBEAU_FILL(Word) \
  template void fill_rows<Word>(char*, int64_t, const char*, int64_t, int64_t, int64_t);
FLAMBEAU_FILL(uint8_t)
FLAMBEAU_FILL(uint16_t)
FLAMBEAU_FILL(uint32_t)
FLAMBEAU_FILL(uint64_t)
FLAMBEAU_FILL(Bytes16)
#undef FLAMBEAU_FILL

}  // namespace flambeau::cpu::FLAMBEAU_ISA
