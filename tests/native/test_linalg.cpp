// Matrix products against plain loops, over layouts, types and sizes around the tile edges.

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "check.h"
#include "cpu/linalg/gemm.h"

namespace flambeau::cpu {
void mm(const Tensor& result, const Tensor& self, const Tensor& mat2);
void mv(const Tensor& result, const Tensor& self, const Tensor& vec);
void dot(const Tensor& result, const Tensor& self, const Tensor& tensor);
void bmm(const Tensor& result, const Tensor& self, const Tensor& mat2);
void matmul(const Tensor& result, const Tensor& self, const Tensor& other);
void linear(const Tensor& result, const Tensor& input, const Tensor& weight, const Tensor& bias);
void addmm(const Tensor& result, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
           const Scalar& beta, const Scalar& alpha);
}  // namespace flambeau::cpu

using namespace flambeau;

namespace {

std::mt19937 engine(7);

Tensor random_tensor(Shape sizes, DType dtype) {
  const Tensor wide = empty(sizes, DType::float64);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < wide.numel(); ++i)
    wide.data<double>()[i] =
        is_floating(dtype) || is_complex(dtype) ? normal(engine) : std::round(3 * normal(engine));
  const Tensor result = empty(sizes, dtype);
  copy_data(result, wide);
  return result;
}

Tensor transposed(const Tensor& tensor) {
  Shape sizes = tensor.sizes(), strides = tensor.strides();
  const size_t last = sizes.size() - 1;
  std::swap(sizes[last], sizes[last - 1]);
  std::swap(strides[last], strides[last - 1]);
  return make_view(tensor, sizes, strides, tensor.offset());
}

/// Every second column of a wider tensor.
Tensor sliced(const Tensor& wide) {
  Shape sizes = wide.sizes(), strides = wide.strides();
  sizes.back() = (sizes.back() + 1) / 2;
  strides.back() *= 2;
  return make_view(wide, sizes, strides, wide.offset());
}

double at(const Tensor& tensor, int64_t i, int64_t j) {
  const int64_t sizes[] = {1, 1};
  const int64_t strides[] = {1, 1};
  return item(make_view(tensor, IntList(sizes, 0), IntList(strides, 0),
                        tensor.offset() + i * tensor.strides()[0] + j * tensor.strides()[1]))
      .to<double>();
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 1e-12;
    case DType::float32:
      return 1e-5;
    case DType::float16:
      return 2e-3;
    case DType::bfloat16:
      return 2e-2;
    default:
      return dtype == DType::complex64 ? 1e-5 : 1e-12;
  }
}

/// The elements, row by row.
std::vector<double> values_of(const Tensor& tensor) {
  const Tensor wide = empty(tensor.sizes(), DType::float64);
  copy_data(wide, tensor);
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

/// The sum of products of row i of a with column j of b, and that of their sizes.
REFERENCE std::pair<double, double> product(const double* a, const double* b, int64_t k, int64_t n,
                                            int64_t i, int64_t j) {
  double sum = 0, size = 1;
  for (int64_t p = 0; p < k; ++p) {
    sum += a[i * k + p] * b[p * n + j];
    size += std::abs(a[i * k + p] * b[p * n + j]);
  }
  return {sum, size};
}

void compare_mm(const Tensor& a, const Tensor& b) {
  const int64_t m = a.sizes()[0], k = a.sizes()[1], n = b.sizes()[1];
  const Tensor c = empty(Shape{m, n}, a.dtype());
  cpu::mm(c, a, b);
  const std::vector<double> left = values_of(a), right = values_of(b);
  for (int64_t i = 0; i < m; i += std::max<int64_t>(1, m / 9))
    for (int64_t j = 0; j < n; j += std::max<int64_t>(1, n / 9)) {
      auto [sum, size] = product(left.data(), right.data(), k, n, i, j);
      // Small integers wrap around, as their sums do in NumPy.
      if (a.dtype() == DType::int8) sum = static_cast<int8_t>(static_cast<int64_t>(sum));
      if (a.dtype() == DType::uint8) sum = static_cast<uint8_t>(static_cast<int64_t>(sum));
      CHECK(std::abs(at(c, i, j) - sum) <= tolerance(a.dtype()) * size);
      if (flambeau::testing::failures > 10) return;
    }
}

TEST(mm) {
  const DType all[] = {DType::float32,   DType::float64,   DType::int32, DType::int64,
                       DType::bfloat16,  DType::float16,   DType::uint8, DType::int8,
                       DType::complex64, DType::complex128};
  const int64_t sizes[][3] = {{1, 1, 1},   {5, 5, 5},   {12, 32, 16},  {13, 33, 17},
                              {1, 70, 40}, {40, 70, 1}, {31, 300, 65}, {0, 3, 4},
                              {3, 0, 4},   {3, 4, 0},   {250, 530, 70}};
  for (const DType dtype : all)
    for (const auto& [m, k, n] : sizes) {
      if (flambeau::testing::failures) return void(std::fprintf(stderr, "%s\n", name(dtype)));
      const Tensor a = random_tensor({m, k}, dtype), b = random_tensor({k, n}, dtype);
      compare_mm(a, b);
      compare_mm(transposed(random_tensor({k, m}, dtype)), b);
      compare_mm(a, transposed(random_tensor({n, k}, dtype)));
      if (k > 0 && n > 0 && m > 0)
        compare_mm(sliced(random_tensor({m, 2 * k}, dtype)),
                   sliced(random_tensor({k, 2 * n}, dtype)));
      const Tensor row = random_tensor({1, n}, dtype);
      compare_mm(a, make_view(row, Shape{k, n}, Shape{0, 1}, 0));
    }
}

TEST(unread_result) {
  // A result that holds NaN is not read.
  const Tensor a = random_tensor({8, 8}, DType::float32), c = empty(Shape{8, 8}, DType::float32);
  fill_data(c, NAN);
  cpu::mm(c, a, a);
  CHECK(!std::isnan(c.data<float>()[0]));
  // A sum of products over nothing is zero.
  const Tensor none = empty(Shape{8, 0}, DType::float32);
  fill_data(c, NAN);
  cpu::mm(c, none, transposed(none));
  for (int64_t i = 0; i < 64; ++i) CHECK(c.data<float>()[i] == 0);
}

TEST(matmul_ranks) {
  const Tensor a = random_tensor({2, 1, 3, 4}, DType::float64);
  const Tensor b = random_tensor({5, 4, 6}, DType::float64);
  const Tensor c = empty(Shape{2, 5, 3, 6}, DType::float64);
  cpu::matmul(c, a, b);
  for (int64_t x = 0; x < 2; ++x)
    for (int64_t y = 0; y < 5; ++y)
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 6; ++j) {
          double sum = 0;
          for (int64_t p = 0; p < 4; ++p)
            sum += a.data<double>()[(x * 3 + i) * 4 + p] * b.data<double>()[(y * 4 + p) * 6 + j];
          CHECK(std::abs(c.data<double>()[((x * 5 + y) * 3 + i) * 6 + j] - sum) < 1e-12);
        }
  const Tensor v = random_tensor({4}, DType::float64), scalar = empty(Shape{}, DType::float64);
  cpu::matmul(scalar, v, v);
  const Tensor same = empty(Shape{}, DType::float64);
  cpu::dot(same, v, v);
  CHECK(std::abs(*scalar.data<double>() - *same.data<double>()) < 1e-12);
  // A stack of rows whose leading dims are permuted does not merge into one matrix.
  const Tensor stack = random_tensor({3, 2, 4}, DType::float64);
  const Tensor permuted = make_view(stack, Shape{2, 3, 4}, Shape{4, 8, 1}, 0);
  const Tensor out = empty(Shape{2, 3}, DType::float64);
  cpu::matmul(out, permuted, v);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < 4; ++p)
        sum += stack.data<double>()[j * 8 + i * 4 + p] * v.data<double>()[p];
      CHECK(std::abs(out.data<double>()[i * 3 + j] - sum) < 1e-12);
    }
}

TEST(linear_and_addmm) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
    for (const int64_t batch : {1, 3, 70}) {
      const Tensor x = random_tensor({batch, 50}, dtype), w = random_tensor({37, 50}, dtype);
      const Tensor b = random_tensor({37}, dtype);
      const Tensor y = empty(Shape{batch, 37}, dtype), z = empty(Shape{batch, 37}, dtype);
      cpu::linear(y, x, w, b);
      cpu::addmm(z, b, x, transposed(w), 1, 1);
      const std::vector<double> left = values_of(x), right = values_of(transposed(w));
      for (int64_t i = 0; i < batch; ++i)
        for (int64_t j = 0; j < 37; ++j) {
          double sum = b.dtype() == DType::float64
                           ? b.data<double>()[j]
                           : item(make_view(b, Shape{}, Shape{}, j)).to<double>();
          sum += product(left.data(), right.data(), 50, 37, i, j).first;
          CHECK(std::abs(at(y, i, j) - sum) <= 30 * tolerance(dtype));
          CHECK(std::abs(at(z, i, j) - sum) <= 30 * tolerance(dtype));
        }
    }
}

}  // namespace
