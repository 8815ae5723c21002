#pragma once

#include "cpu/linalg/gemm_halves.h"

// Tiles of 32 x 32 sums in registers that hold matrices (AMX). Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512F__
/// Panels are cut into blocks of 16 elements, pairs of bfloat16: a register holds 16 lines of them.
/// `Registers` has eight registers of 16 rows of 64 bytes, and their instructions.
template <class Registers>
struct MatrixTiles {
  using Form = Paired;
  static constexpr int64_t kRows = 32, kColumns = 32;
  static constexpr int64_t kMultiple = 16;
  static constexpr bool kWritesHalves = false;
  static constexpr int64_t kElements = 256;  // of a pass: its part of a panel of b stays in L1

  static void pack_rows(const HalfLines<bfloat16>& lines, int64_t elements, Bfloat16Pair* packed) {
    for (int64_t panel = 0; panel < lines.count; panel += kRows)
      for (int64_t e = 0; e < elements; e += kMultiple)
        for (int64_t i = 0; i < kRows; i += kMultiple) {
          Vector<Bfloat16Pair> square[kLanes<float>] = {};
          if (panel + i < lines.count)
            read_square<Form>(lines, panel + i, e * Form::kSteps, true, square);
          for (const auto& line : square) {
            store(packed, line);
            packed += kMultiple;
          }
        }
  }

  static void run(int64_t, int64_t elements, const Bfloat16Pair* a, const Bfloat16Pair* b,
                  float* sums, bool adds) {
    constexpr int64_t half = kMultiple, line = kColumns * 4;
    float* const corners[] = {sums, sums + half, sums + half * kColumns,
                              sums + half * kColumns + half};
    if (adds) {
      Registers::template load<0>(corners[0], line);
      Registers::template load<1>(corners[1], line);
      Registers::template load<2>(corners[2], line);
      Registers::template load<3>(corners[3], line);
    } else {
      Registers::template zero<0>();
      Registers::template zero<1>();
      Registers::template zero<2>();
      Registers::template zero<3>();
    }
    for (int64_t e = 0; e < elements; e += kMultiple, a += kRows * half, b += kColumns * half) {
      Registers::template load<4>(a, half * 4);
      Registers::template load<5>(a + half * half, half * 4);
      Registers::template load<6>(b, line);
      Registers::template load<7>(b + half, line);
      Registers::template multiply_add<0, 4, 6>();
      Registers::template multiply_add<1, 4, 7>();
      Registers::template multiply_add<2, 5, 6>();
      Registers::template multiply_add<3, 5, 7>();
    }
    Registers::template store<0>(corners[0], line);
    Registers::template store<1>(corners[1], line);
    Registers::template store<2>(corners[2], line);
    Registers::template store<3>(corners[3], line);
  }
};

/// The registers of the processor. `line`: bytes from row to row.
struct AmxRegisters {
  /// All registers are of 16 rows of 64 bytes while this lives.
  struct Configured {
    Configured() {
      alignas(64) uint8_t layout[64] = {1};  // the palette
      for (int i = 0; i < 8; ++i) {
        layout[16 + 2 * i] = 64;  // bytes of a row
        layout[48 + i] = 16;      // rows
      }
      asm volatile("ldtilecfg %0" ::"m"(layout));
    }
    ~Configured() { asm volatile("tilerelease"); }
    Configured(const Configured&) = delete;
    Configured& operator=(const Configured&) = delete;
  };
  template <int i>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(i));
  }
  template <int i>
  static void load(const void* from, int64_t line) {
    asm volatile("tileloadd (%1,%2,1), %%tmm%c0" ::"i"(i), "r"(from), "r"(line) : "memory");
  }
  template <int i>
  static void store(void* to, int64_t line) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)" ::"i"(i), "r"(to), "r"(line) : "memory");
  }
  template <int sum, int a, int b>
  static void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sum), "i"(a), "i"(b));
  }
};
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
