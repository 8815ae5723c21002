// Products of attention in registers that hold matrices, which are emulated, against plain loops in
// double: right factors from any line or even step on, parts of blocks, scores and their transpose.

#include "cpu/linalg/bfloat16_products.h"

#include "cpu/nn/attention_matrices.h"

#include <random>

#include "check.h"
#include "core/backends/half_products.h"
#include "emulated_registers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

std::mt19937 engine(7);

std::vector<bfloat16> random_halves(int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<bfloat16> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(bfloat16(normal(engine)));
  return values;
}

/// Pairs of rows side by side, and zeros from the last row on for as long as a product may read.
TEST(paired_rows) {
  constexpr int64_t whole = 16, width = kTileColumns<Bfloat16Pair>;
  const int64_t heads = 2, columns = width + 5;
  for (const int64_t depth : {1, 2, 31, 96}) {
    const auto values = random_halves(heads * depth * columns);
    const PairedHeads<whole, false> packed(values.data(), heads, depth, columns);
    const auto half = [&](int64_t p, int64_t j) {
      const bool exists = p < depth && j < columns;
      const auto place = static_cast<size_t>((depth + p) * columns + j);
      return exists ? uint32_t{std::bit_cast<uint16_t>(values[place])} : 0;
    };
    for (int64_t first = 0; first < depth; first += 2) {
      const Panels<Bfloat16Pair> panels = packed.from(1, first);
      for (int64_t e = 0; e < (depth - first + 2 * whole - 1) / (2 * whole) * whole; ++e)
        for (int64_t j = 0; j < 2 * width; ++j) {
          const auto pair = panels.from_column(j / width * width).data[e * width + j % width];
          const int64_t p = first + 2 * e;
          CHECK(pair == (half(p, j) | half(p + 1, j) << 16));
        }
    }
  }
}

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
using Form = Matrices<EmulatedRegisters>;

/// c[i, j] = 0.5 sum a(i, p) b(p, j) + beta before.
template <class A, class B>
void check_product(int64_t rows, int64_t columns, int64_t depth, const std::vector<float>& c,
                   int64_t ldc, float beta, float before, const A& a, const B& b) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < depth; ++p) {
        const double product = static_cast<double>(a(i, p)) * static_cast<double>(b(p, j));
        sum += product, size += std::abs(product);
      }
      const double expected = 0.5 * sum + static_cast<double>(beta * before);
      CHECK(std::abs(static_cast<double>(c[static_cast<size_t>(i * ldc + j)]) - expected) <=
            1e-5 * size + 1e-5);
    }
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
    for (size_t j = static_cast<size_t>(columns); j < static_cast<size_t>(ldc); ++j)
      CHECK(c[i * static_cast<size_t>(ldc) + j] == before);
}

TEST(rows_in_memory) {
  if (!has_paired_products()) return;
  const int64_t heads = 2, lines = 70;
  for (const int64_t depth : {2, 30, 32, 64, 66})
    for (const int64_t rows : {1, 15, 16, 33, 48}) {
      const auto a = random_halves(rows * depth), b = random_halves(heads * lines * depth);
      const Form::Transposed right(b.data(), heads, lines, depth);
      const int64_t columns = 38, first = 32, ldc = 41;
      for (const float beta : {0.0f, 1.0f}) {
        std::vector<float> c(static_cast<size_t>(rows * ldc), 3.0f);
        Form::add_product(rows, columns, elements_of<Form>(depth), Form::rows(a.data(), depth),
                          right.from(1, first), c.data(), ldc, 0.5f, beta);
        check_product(
            rows, columns, depth, c, ldc, beta, 3.0f,
            [&](int64_t i, int64_t p) { return static_cast<float>(a[size_t(i * depth + p)]); },
            [&](int64_t p, int64_t j) {
              return static_cast<float>(b[size_t((lines + first + j) * depth + p)]);
            });
      }
    }
}

/// Scores, rounded, times values: along rows from a step on, and along columns.
TEST(blocks_of_scores) {
  if (!has_paired_products()) return;
  std::normal_distribution<float> normal;
  std::vector<float> scores(static_cast<size_t>(kScoreRows * kScoreStep));
  for (float& score : scores) score = static_cast<float>(bfloat16(normal(engine)));
  const auto score = [&](int64_t i, int64_t j) { return scores[size_t(i * kScoreStep + j)]; };
  const auto block = std::make_unique<Form::Block>();
  const int64_t depth = 175, width = 40;
  const auto values = random_halves(depth * width);
  const Form::Straight right(values.data(), 1, depth, width);
  for (const int64_t rows : {1, 31, 48})
    for (const int64_t columns : {1, 47, 127, 128}) {
      const auto value_from = [&](int64_t first) {
        return [&, first](int64_t p, int64_t j) {
          return static_cast<float>(values[size_t((first + p) * width + j)]);
        };
      };
      std::vector<float> c(static_cast<size_t>(rows * width), 2.0f);
      block->take_rows(scores.data(), rows, columns);
      Form::add_product(rows, width, elements_of<Form>(columns), block->rows(),
                        right.from(0, depth - columns - 1 + columns % 2), c.data(), width, 0.5f,
                        1.0f);
      check_product(rows, width, columns, c, width, 1.0f, 2.0f, score,
                    value_from(depth - columns - 1 + columns % 2));
      std::vector<float> turned(static_cast<size_t>(columns * width), 2.0f);
      block->take_columns(scores.data(), rows, columns);
      Form::add_product(columns, width, elements_of<Form>(rows), block->columns(),
                        right.from(0, 144 - 48), turned.data(), width, 0.5f, 0.0f);
      check_product(
          columns, width, rows, turned, width, 0.0f, 2.0f,
          [&](int64_t i, int64_t p) { return score(p, i); }, value_from(144 - 48));
    }
}
#endif

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
