#pragma once

#include "cpu/linalg/few_dots.h"
#include "cpu/linalg/matrix_tiles.h"

// Few lines with many, in registers that hold matrices (AMX): the many are read where they lie.
// Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

#ifdef __AVX512F__
/// `kFew` lines are a right factor in one register; 32 of the many fill two.
template <class Registers>
class MatrixDots {
 public:
  static constexpr int64_t kFew = 16;

  static void run(const FewLines<bfloat16>& call) {
    const int64_t depth = (call.depth + kBlock - 1) / kBlock * kBlock;
    Bfloat16Pair* const few = scratch<Bfloat16Pair>(0, static_cast<size_t>(depth / 2 * kFew));
    for (int64_t first = 0; first < call.few; first += kFew) {
      const int64_t count = std::min(kFew, call.few - first);
      pack_by_element<Paired>(
          {call.left + first * call.left_line, call.left_line, call.left_step, count, call.depth},
          depth / 2, kFew, few);
      for (int64_t j = 0; j < call.many; j += kMany) {
        alignas(64) float sums[kMany * kFew];
        multiply(call, j, few, sums);
        for (int64_t half = 0; half < kMany && j + half < call.many; half += kFew)
          write(call, first, count, j + half, sums + half * kFew);
      }
    }
  }

 private:
  static constexpr int64_t kMany = 32, kBlock = 32;  // lines, and steps of their depth

  /// sums [kMany, kFew] of the lines from j on.
  static void multiply(const FewLines<bfloat16>& call, int64_t j, const Bfloat16Pair* few,
                       float* sums) {
    const bfloat16* const lines = call.right + j * call.right_line;
    const int64_t count = std::min(kMany, call.many - j);
    using Sums = MatrixSums<Registers, 2, 1>;
    int64_t p = 0;
    const auto add = [&](const bfloat16* from, int64_t line, int64_t steps) {
      const auto next = [from, right = few + p / 2 * kFew]() mutable {
        const MatrixFactors factors{from, right};
        from += kBlock;
        right += kBlock / 2 * kFew;
        return factors;
      };
      Sums::add(steps, {line * 2, kFew * line * 2, kFew * 4, 0}, next);
      p += steps * kBlock;
    };
    Sums::clear();
    if (count == kMany) add(lines, call.right_line, call.depth / kBlock);
    while (p < call.depth) {
      alignas(64) bfloat16 block[kMany * kBlock] = {};
      const int64_t steps = std::min(kBlock, call.depth - p);
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(lines + i * call.right_line + p, steps, block + i * kBlock);
      add(block, kBlock, 1);
    }
    Sums::write(sums, kFew);
  }

  /// Sums [16, kFew] of lines of the many from j on.
  static void write(const FewLines<bfloat16>& call, int64_t first, int64_t count, int64_t j,
                    const float* sums) {
    Vector<float> square[kFew];
    for (int64_t i = 0; i < kFew; ++i) square[i] = load(sums + i * kFew);
    transpose_square<float>(square);
    const bool is_plain = call.many_step == 1 && call.alpha == 1 && call.beta == 0 && !call.bias;
    const int64_t many = std::min(kFew, call.many - j);
    for (int64_t i = 0; i < count; ++i) {
      if (is_plain && many == kFew) {
        *reinterpret_cast<HalfVector*>(call.c + (first + i) * call.few_step + j) =
            Paired::narrow(square[i]);
        continue;
      }
      alignas(64) float line[kFew];
      store(line, square[i]);
      for (int64_t q = 0; q < many; ++q) call.write(first + i, j + q, line[q]);
    }
  }
};
#endif

}  // namespace flambeau::cpu::FLAMBEAU_ISA
