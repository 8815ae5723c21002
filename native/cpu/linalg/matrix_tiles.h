#pragma once

#include "cpu/linalg/gemm_halves.h"

// Tiles of 32 x 32 sums in registers that hold matrices (AMX). Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512F__
/// What one step of a depth multiplies: where a register of left factors begins, and one of right.
struct MatrixFactors {
  const void *left, *right;
};

/// Bytes from line to line of such registers, and to the second register of each.
struct FactorLines {
  int64_t left, below, right, beside;
};

/// Sums of products in registers that hold matrices: `height` times `width` of them, at most two
/// each, which are 0 to 3 of `Registers`, row after row. 4 and 5 hold left factors, 6 and 7 right
/// ones. `Registers` has eight registers of 16 rows of 64 bytes, and their instructions.
template <class Registers, int height, int width>
struct MatrixSums {
  static constexpr bool is_tall = height == 2, is_wide = width == 2;

  static void clear() {
    Registers::template zero<0>();
    if constexpr (is_wide) Registers::template zero<1>();
    if constexpr (is_tall) Registers::template zero<2>();
    if constexpr (is_tall && is_wide) Registers::template zero<3>();
  }
  /// `step`: floats from line to line.
  static void read(const float* from, int64_t step) {
    const int64_t line = step * 4;
    Registers::template load<0>(from, line);
    if constexpr (is_wide) Registers::template load<1>(from + 16, line);
    if constexpr (is_tall) Registers::template load<2>(from + 16 * step, line);
    if constexpr (is_tall && is_wide) Registers::template load<3>(from + 16 * step + 16, line);
  }
  static void write(float* to, int64_t step) {
    const int64_t line = step * 4;
    Registers::template store<0>(to, line);
    if constexpr (is_wide) Registers::template store<1>(to + 16, line);
    if constexpr (is_tall) Registers::template store<2>(to + 16 * step, line);
    if constexpr (is_tall && is_wide) Registers::template store<3>(to + 16 * step + 16, line);
  }

  /// Adds the products of some steps: next() gives the factors of each. It holds all that it needs:
  /// instructions that write memory, as those of registers may, have what it refers to read again.
  template <class Next>
  [[gnu::always_inline]] static void add(int64_t steps, const FactorLines& lines, Next next) {
    // The first store of a register for half a microsecond holds up the processor for 250 ns.
    constexpr int64_t kStepsWithoutStore = 8;
    alignas(64) std::byte unused[1024];
    for (int64_t i = 1; i <= steps; ++i) {
      const MatrixFactors factors = next();
      const char* const left = static_cast<const char*>(factors.left);
      const char* const right = static_cast<const char*>(factors.right);
      // In turns: a product waits for what it needs alone.
      Registers::template load<4>(left, lines.left);
      Registers::template load<6>(right, lines.right);
      Registers::template multiply_add<0, 4, 6>();
      if constexpr (is_wide) {
        Registers::template load<7>(right + lines.beside, lines.right);
        Registers::template multiply_add<1, 4, 7>();
      }
      if constexpr (is_tall) {
        Registers::template load<5>(left + lines.below, lines.left);
        Registers::template multiply_add<2, 5, 6>();
        if constexpr (is_wide) Registers::template multiply_add<3, 5, 7>();
      }
      if (i % kStepsWithoutStore == 0) Registers::template store<4>(unused, 64);
    }
  }
};

/// Left factors where registers take them: 16 rows, each `line` bytes from the one before, and 16
/// more `below` those; the next 32 steps of the depth are `next` bytes on.
struct LeftBlocks {
  const void* data;
  int64_t line, below, next;
};

/// Panels are cut into blocks of 16 elements, pairs of bfloat16: a register holds 16 lines of them.
template <class Registers>
struct MatrixTiles {
  using Form = Paired;
  static constexpr int64_t kRows = 32, kColumns = 32;
  static constexpr int64_t kMultiple = 16;
  static constexpr bool kWritesHalves = false;

  static void pack_rows(const StridedLines<bfloat16>& lines, int64_t elements,
                        Bfloat16Pair* packed) {
    for (int64_t panel = 0; panel < lines.count; panel += kRows)
      for (int64_t e = 0; e < elements; e += kMultiple)
        for (int64_t i = 0; i < kRows; i += kMultiple, packed += kMultiple * kMultiple)
          pack_block(lines, panel + i, e, packed);
  }

  /// Where registers take rows of a, panel after panel: where they lie, if the depth fills
  /// registers.
  static auto panels(const StridedLines<bfloat16>& a, int64_t elements, Bfloat16Pair* packed) {
    const int64_t whole = are_in_place(a) ? a.count / kRows * kRows : 0;
    const StridedLines<bfloat16> rest{a.data + whole * a.line, a.line, a.step, a.count - whole,
                                      a.depth};
    if (rest.count > 0) pack_rows(rest, elements, packed);
    return [=](int64_t i) {
      constexpr int64_t line = kMultiple * 4, block = kMultiple * line;
      if (i >= whole) return LeftBlocks{packed + (i - whole) * elements, line, block, 2 * block};
      return LeftBlocks{a.data + i * a.line, a.line * 2, kMultiple * a.line * 2, line};
    };
  }
  static bool are_in_place(const StridedLines<bfloat16>& a) {
    return a.step == 1 && a.depth % (kMultiple * Form::kSteps) == 0;
  }

  /// sums [kRows, kColumns] = a panel of a times a panel of b.
  static void run(int64_t, int64_t elements, const LeftBlocks& a, const Bfloat16Pair* b,
                  float* sums, const Awaited& awaited) {
    multiply<2>(elements, a, b, sums, awaited);
  }

  /// sums [16 * height, kColumns] = rows of a times a panel of b; the elements are a multiple of
  /// 16.
  template <int height>
  static void multiply(int64_t elements, const LeftBlocks& left, const Bfloat16Pair* b, float* sums,
                       const Awaited& awaited = {}) {
    using Sums = MatrixSums<Registers, height, 2>;
    constexpr int64_t half = kMultiple, line = kColumns * 4;
    const char* a = static_cast<const char*>(left.data);
    const char* c = static_cast<const char*>(awaited.result);
    const char* const end = c + awaited.results * awaited.result_line;
    const char* later = static_cast<const char*>(awaited.left);
    Sums::clear();
    const auto next = [a, b, c, end, later, awaited, ahead = left.next]() mutable {
      for (int r = 0; r < height && c != end; ++r, c += awaited.result_line)
        __builtin_prefetch(c, 1);
      for (int64_t r = 0; r < awaited.lefts; ++r)
        __builtin_prefetch(later + r * awaited.left_line, 0, 2);
      later += kMultiple * 4;
      const MatrixFactors factors{a, b};
      a += ahead;
      b += kColumns * half;
      return factors;
    };
    Sums::add(elements / kMultiple, {left.line, left.below, line, half * 4}, next);
    Sums::write(sums, kColumns);
  }

 private:
  /// What a register takes of the lines from `first` on.
  static void pack_block(const StridedLines<bfloat16>& lines, int64_t first, int64_t element,
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
