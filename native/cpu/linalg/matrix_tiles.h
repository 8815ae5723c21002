#pragma once

#include "cpu/linalg/gemm_halves.h"

// Tiles of 32 x 32 sums in registers that hold matrices (AMX). Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512F__
/// Left factors where registers take them: 16 rows, each `line` bytes from the one before, and 16
/// more `below` those; the next 32 steps of the depth are `next` bytes on.
struct LeftBlocks {
  const void* data;
  int64_t line, below, next;
};

/// Lines of a result that are written soon.
struct Awaited {
  const void* data;
  int64_t line;  ///< bytes from one to the next
  int64_t count;
};

/// Panels are cut into blocks of 16 elements, pairs of bfloat16: a register holds 16 lines of them.
/// `Registers` has eight registers of 16 rows of 64 bytes, and their instructions.
template <class Registers>
struct MatrixTiles {
  using Form = Paired;
  static constexpr int64_t kRows = 32, kColumns = 32;
  static constexpr int64_t kMultiple = 16;
  static constexpr bool kWritesHalves = false;

  static void pack_rows(const HalfLines<bfloat16>& lines, int64_t elements, Bfloat16Pair* packed) {
    for (int64_t panel = 0; panel < lines.count; panel += kRows)
      for (int64_t e = 0; e < elements; e += kMultiple)
        for (int64_t i = 0; i < kRows; i += kMultiple, packed += kMultiple * kMultiple)
          pack_block(lines, panel + i, e, packed);
  }

  /// sums [kRows, kColumns] = a panel of a times a panel of b, which goes to c.
  static void run(int64_t rows, int64_t elements, const Bfloat16Pair* a, const Bfloat16Pair* b,
                  float* sums, const bfloat16* c, int64_t ldc) {
    constexpr int64_t block = kMultiple * kMultiple * 4;
    multiply<2>(elements, {a, kMultiple * 4, block, 2 * block}, b, sums, {c, ldc * 2, rows});
  }

  /// sums [16 * height, kColumns] = rows of a times a panel of b; the elements are a multiple of
  /// 16. Lines of the result are asked for step by step: all at once they would hold up the loads
  /// of factors.
  template <int height>
  static void multiply(int64_t elements, const LeftBlocks& left, const Bfloat16Pair* b, float* sums,
                       Awaited result = {}) {
    constexpr int64_t half = kMultiple, line = kColumns * 4;
    Registers::template zero<0>();
    Registers::template zero<1>();
    if constexpr (height == 2) {
      Registers::template zero<2>();
      Registers::template zero<3>();
    }
    const char* a = static_cast<const char*>(left.data);
    const char* c = static_cast<const char*>(result.data);
    const char* const end = c + result.count * result.line;
    for (int64_t e = 0; e < elements; e += kMultiple, a += left.next, b += kColumns * half) {
      for (int r = 0; r < height && c != end; ++r, c += result.line) __builtin_prefetch(c, 1);
      // In turns: a product waits for what it needs alone.
      Registers::template load<4>(a, left.line);
      Registers::template load<6>(b, line);
      Registers::template multiply_add<0, 4, 6>();
      Registers::template load<7>(b + half, line);
      Registers::template multiply_add<1, 4, 7>();
      if constexpr (height == 2) {
        Registers::template load<5>(a + left.below, left.line);
        Registers::template multiply_add<2, 5, 6>();
        Registers::template multiply_add<3, 5, 7>();
      }
    }
    Registers::template store<0>(sums, line);
    Registers::template store<1>(sums + half, line);
    if constexpr (height == 2) {
      Registers::template store<2>(sums + half * kColumns, line);
      Registers::template store<3>(sums + half * kColumns + half, line);
    }
  }

 private:
  /// What a register takes of the lines from `first` on.
  static void pack_block(const HalfLines<bfloat16>& lines, int64_t first, int64_t element,
                         Bfloat16Pair* packed) {
    const int64_t from = element * Form::kSteps, to = from + kMultiple * Form::kSteps;
    if (lines.step == 1 && first + kMultiple <= lines.count && to <= lines.depth) {
      const bfloat16* line = lines.data + first * lines.line + from;
#pragma GCC unroll 16
      for (int64_t i = 0; i < kMultiple; ++i, line += lines.line)
        store(packed + i * kMultiple, Form::along(line));
      return;
    }
    Vector<Bfloat16Pair> square[kLanes<float>] = {};
    if (first < lines.count) read_square<Form>(lines, first, from, true, square);
    for (int64_t i = 0; i < kMultiple; ++i) store(packed + i * kMultiple, square[i]);
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
