// Products of halves, and of few lines of any floats, against plain loops in double: in vector
// registers, and in matrix registers that are emulated where the processor has none.

#include <cmath>
#include <random>
#include <utility>

#include "check.h"
#include "core/backends/half_products.h"
#include "cpu/linalg/few_dots.h"
#include "cpu/linalg/gemm_halves.h"
#include "cpu/linalg/half_kernels.h"
#include "cpu/linalg/matrix_dots.h"
#include "cpu/linalg/matrix_tiles.h"
#include "emulated_registers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

std::mt19937 engine(5);

template <class T>
std::vector<T> random_halves(int64_t count) {
  std::normal_distribution<float> normal;
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(T(normal(engine)));
  return values;
}

struct Factors {
  int64_t m, n, k;
  bool a_by_rows, b_by_rows;
  float alpha, beta;
  bool has_bias;
};

/// The elements, row by row.
template <class T>
std::vector<double> values_of(const MatrixView<T>& view, int64_t rows, int64_t columns) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values.push_back(static_cast<double>(static_cast<float>(*view.at(i, j).data)));
  return values;
}

/// The sum of products of two rows of k, and that of their sizes.
REFERENCE inline std::pair<double, double> product(const double* a, const double* b, int64_t k) {
  double sum = 0, size = 0;
  for (int64_t p = 0; p < k; ++p) {
    sum += a[p] * b[p];
    size += std::abs(a[p] * b[p]);
  }
  return {sum, size};
}

/// run(call) computes what the call asks for.
template <class T, class Run>
void compare(const Factors& given, const Run& run) {
  const auto [m, n, k, a_by_rows, b_by_rows, alpha, beta, has_bias] = given;
  const std::vector<T> a = random_halves<T>(m * k), b = random_halves<T>(k * n);
  const std::vector<T> bias = random_halves<T>(n), before = random_halves<T>(m * (n + 3));
  std::vector<T> c = before;
  const MatrixView<T> left =
      a_by_rows ? MatrixView<T>{a.data(), k, 1} : MatrixView<T>{a.data(), 1, m};
  const MatrixView<T> right =
      b_by_rows ? MatrixView<T>{b.data(), n, 1} : MatrixView<T>{b.data(), 1, k};
  run(Product<T>{m, n, k, left, right, c.data(), n + 3, GemmFactor<T>(alpha), GemmFactor<T>(beta),
                 has_bias ? bias.data() : nullptr});
  const double step = std::is_same_v<T, bfloat16> ? 1.0 / 256 : 1.0 / 2048;
  const std::vector<double> rows = values_of(left, m, k);
  const std::vector<double> columns = values_of(right.transposed(), n, k);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const auto [sum, size] = product(rows.data() + i * k, columns.data() + j * k, k);
      double expected = alpha * sum;
      if (beta != 0) expected += beta * static_cast<float>(before[i * (n + 3) + j]);
      if (has_bias) expected += static_cast<float>(bias[j]);
      const double seen = static_cast<float>(c[i * (n + 3) + j]);
      CHECK(std::abs(seen - expected) <= step * std::abs(expected) + 1e-5 * size + 1e-6);
      if (flambeau::testing::failures > 10) return;
    }
    for (int64_t j = n; j < n + 3; ++j)
      CHECK(static_cast<float>(c[i * (n + 3) + j]) == static_cast<float>(before[i * (n + 3) + j]));
  }
}

template <class T, class Run>
void compare_all(const Run& run, int64_t most_rows = 1 << 20) {
  const int64_t sizes[][3] = {{1, 1, 1},    {5, 7, 3},     {12, 32, 16},   {13, 33, 17},
                              {32, 32, 32}, {33, 65, 513}, {70, 100, 300}, {3, 40, 4100},
                              {40, 3, 8},   {7, 9, 0},     {35, 700, 1200}};
  for (const auto& [m, n, k] : sizes)
    for (const bool a_by_rows : {true, false})
      for (const bool b_by_rows : {true, false})
        compare<T>({std::min(m, most_rows), n, k, a_by_rows, b_by_rows, 1, 0, false}, run);
  compare<T>({std::min<int64_t>(20, most_rows), 50, 70, true, false, 0.5f, 2.0f, true}, run);
  compare<T>({std::min<int64_t>(9, most_rows), 40, 4097, true, true, -1.0f, 1.0f, true}, run);
}

TEST(register_tiles) {
  compare_all<bfloat16>(&gemm_halves<RegisterTiles<Widened<bfloat16>>>);
  compare_all<float16>(&gemm_halves<RegisterTiles<Widened<float16>>>);
}

template <class T>
FewLines<T> dots_of(const Product<T>& call) {
  return {
      call.m, call.n,   call.k, call.a.data, call.a.row, call.a.column, call.b.data, call.b.column,
      call.c, call.ldc, 1,      call.alpha,  call.beta,  call.bias,     0,           1};
}

template <class Form>
void few_rows(const Product<typename Form::Element>& call) {
  using T = typename Form::Element;
  std::vector<T> columns(static_cast<size_t>(call.n * call.k));
  for (int64_t j = 0; j < call.n; ++j)
    for (int64_t p = 0; p < call.k; ++p)
      columns[static_cast<size_t>(j * call.k + p)] = *call.b.at(p, j).data;
  Product<T> dense = call;
  dense.b = {columns.data(), 1, call.k};
  dot_lines<Form>(dots_of(dense));
}

TEST(dots) {
  for (const int64_t most : {1, 2, 3, 4, 5, 8, 11, 70}) {
    compare_all<bfloat16>(&few_rows<Widened<bfloat16>>, most);
    compare_all<float16>(&few_rows<Widened<float16>>, most);
    compare_all<float>(&few_rows<Unchanged<float>>, most);
    compare_all<double>(&few_rows<Unchanged<double>>, most);
  }
}

#ifdef __AVX512F__
TEST(emulated_matrix_dots) {
  const auto run = [](const Product<bfloat16>& call) {
    if (call.b.row != 1) return gemm_halves<RegisterTiles<Widened<bfloat16>>>(call);
    MatrixDots<EmulatedRegisters>::run(dots_of(call));
  };
  for (const int64_t most : {1, 2, 8, 16, 19}) compare_all<bfloat16>(run, most);
}

TEST(emulated_matrix_tiles) { compare_all<bfloat16>(&gemm_halves<MatrixTiles<EmulatedRegisters>>); }

TEST(matrix_tiles) {
  if (!has_matrix_products()) return;
  compare_all<bfloat16>(matrix_kernels()->gemm);
}

TEST(pairs) {
  if (__builtin_cpu_supports("avx512bf16")) compare_all<bfloat16>(paired_kernels()->gemm);
}
#endif

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
