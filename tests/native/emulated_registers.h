#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/backends/instruction_set.h"

// Registers that hold matrices, for processors that have none. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// What the instructions of AMX do, in plain loops.
struct EmulatedRegisters {
  struct Configured {};
  inline static float sums[8][16][16];
  inline static uint32_t* row(int i, int r) { return reinterpret_cast<uint32_t*>(sums[i][r]); }
  template <int i>
  static void zero() {
    std::memset(sums[i], 0, sizeof sums[i]);
  }
  template <int i>
  static void load(const void* from, int64_t line) {
    for (int r = 0; r < 16; ++r)
      std::memcpy(row(i, r), static_cast<const char*>(from) + r * line, 64);
  }
  template <int i>
  static void store(void* to, int64_t line) {
    for (int r = 0; r < 16; ++r) std::memcpy(static_cast<char*>(to) + r * line, row(i, r), 64);
  }
  static float part(uint32_t pair, bool high) {
    return std::bit_cast<float>(high ? pair & 0xffff0000 : pair << 16);
  }
  template <int sum, int a, int b>
  static void multiply_add() {
    for (int i = 0; i < 16; ++i)
      for (int p = 0; p < 16; ++p)
        for (int j = 0; j < 16; ++j)
          for (const bool high : {false, true})
            sums[sum][i][j] += part(row(a, i)[p], high) * part(row(b, p)[j], high);
  }
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA
