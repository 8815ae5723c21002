// Indexing, scattering, joining and moments against plain loops.
#include <cmath>
#include <vector>

#include "check.h"
#include "core/random/random.h"
#include "core/tensor/tensor.h"
#include "core/tensor/views.h"
#include "kernels/gather.h"
#include "kernels/indexing.h"
#include "kernels/moments.h"
#include "kernels/reduction.h"
#include "kernels/shape.h"
#include "kernels/shape_any.h"
#include "kernels/view_grad.h"

using namespace flambeau;

namespace {

/// A dim of a tensor, checked as operators check it.
Dim dim_of(const Tensor& x, int64_t dim) { return Dim(dim, x.dim(), {"test", "dim"}); }
Dims dims_of(const Tensor& x, IntList dims) { return Dims(dims, x.dim(), {"test", "dims"}); }

Tensor numbers(IntList sizes, uint64_t seed = 1) {
  const Tensor tensor = empty(sizes, DType::float32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<float>()[i] =
        uniform_float(random_words({seed, 0}, static_cast<uint64_t>(i), 0).word[0]) - 0.5f;
  }
  return tensor;
}

Tensor integers(IntList sizes, int64_t low, int64_t high, uint64_t seed = 2) {
  const Tensor tensor = empty(sizes, DType::int64);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const RandomWords words = random_words({seed, 0}, static_cast<uint64_t>(i), 0);
    tensor.data<int64_t>()[i] =
        integer_in_range(words.word[0], low, static_cast<uint64_t>(high - low));
  }
  return tensor;
}

float at(const Tensor& x, int64_t i, int64_t j) {
  return x.data<float>()[i * x.stride(0) + j * x.stride(1)];
}
Tensor transposed(const Tensor& x) { return make_view(x, views::transpose(x, 0, 1)); }

TEST(gather_scatter) {
  for (const bool turned : {false, true}) {
    const Tensor x = turned ? transposed(numbers(Shape{6, 5})) : numbers(Shape{5, 6});
    const Tensor index = integers(Shape{4, 9}, 0, 6), result = empty(Shape{4, 9});
    cpu::gather(result, x, dim_of(x, 1), index);
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 9; ++j) {
        CHECK(at(result, i, j) == at(x, i, index.data<int64_t>()[i * 9 + j]));
      }
    }
    const Tensor sums = turned ? transposed(empty(Shape{6, 5})) : empty(Shape{5, 6});
    fill_data(sums, 0);
    const Tensor source = numbers(Shape{4, 9}, 3);
    cpu::scatter_add_(sums, dim_of(sums, 1), index, source);
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t c = 0; c < 6; ++c) {
        float sum = 0;
        for (int64_t j = 0; i < 4 && j < 9; ++j) {
          if (index.data<int64_t>()[i * 9 + j] == c) sum += at(source, i, j);
        }
        CHECK(at(sums, i, c) == sum);
      }
    }
  }
  bool thrown = false;
  try {
    cpu::gather(empty(Shape{1}), numbers(Shape{3}), dim_of(numbers(Shape{3}), 0),
                integers(Shape{1}, 3, 4));
  } catch (const Error& error) {
    thrown = error.kind() == ErrorKind::runtime;
  }
  CHECK(thrown);
}

TEST(advanced) {
  const Tensor x = numbers(Shape{4, 5, 3});
  const Tensor a = integers(Shape{6, 1}, -4, 4), b = integers(Shape{2}, 0, 3);
  const std::vector<Tensor> apart{a, Tensor(), b};
  const Tensor picked = cpu::index(x, apart);
  CHECK(picked.sizes() == Shape{6, 2, 5});
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      for (int64_t k = 0; k < 5; ++k) {
        const int64_t first = (a.data<int64_t>()[i] + 4) % 4;
        CHECK(picked.data<float>()[(i * 2 + j) * 5 + k] ==
              x.data<float>()[(first * 5 + k) * 3 + b.data<int64_t>()[j]]);
      }
    }
  }
  const Tensor mask = empty(Shape{4, 5}, DType::bool_);
  int64_t count = 0;
  for (int64_t i = 0; i < 20; ++i) count += mask.data<bool>()[i] = i % 3 == 0;
  const std::vector<Tensor> masked{mask};
  CHECK(cpu::index(x, masked).sizes() == Shape{count, 3});
  const Tensor y = empty(Shape{3, 4});
  fill_data(y, 0);
  const std::vector<Tensor> twice{cast_data(integers(Shape{5}, 1, 2), DType::int32)};
  cpu::index_put_(y, twice, numbers(Shape{4}), true);
  const Tensor row = numbers(Shape{4});
  for (int64_t j = 0; j < 4; ++j) {
    CHECK(std::abs(at(y, 1, j) - 5 * row.data<float>()[j]) < 1e-6f && at(y, 0, j) == 0);
  }
  const Tensor places = cpu::argwhere(mask);
  CHECK(places.sizes() == Shape{count, 2} && places.data<int64_t>()[3] == 3);
}

TEST(joins) {
  const Tensor a = numbers(Shape{3, 2}), b = transposed(numbers(Shape{4, 3}, 2));
  const Tensor result = empty(Shape{3, 6});
  const std::vector<Tensor> parts{a, b};
  cpu::cat(result, parts, dim_of(result, -1));
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 6; ++j)
      CHECK(at(result, i, j) == (j < 2 ? at(a, i, j) : at(b, i, j - 2)));
  }
  const Tensor rolled = empty(Shape{3, 4});
  const int64_t shifts[] = {1, -1}, dims[] = {0, 1};
  any::roll(rolled, b, shifts, dims_of(b, dims));
  CHECK(at(rolled, 0, 0) == at(b, 2, 1) && at(rolled, 1, 3) == at(b, 0, 0));
  const Tensor flipped = empty(Shape{3, 4});
  cpu::baseline::flip(flipped, b, dims_of(b, dims));
  CHECK(at(flipped, 0, 0) == at(b, 2, 3) && at(flipped, 2, 1) == at(b, 0, 2));
  const Tensor upper = empty(Shape{3, 4});
  cpu::triu(upper, b, 1);
  CHECK(at(upper, 0, 0) == 0 && at(upper, 1, 1) == 0 && at(upper, 1, 2) == at(b, 1, 2));
  const Tensor sums = empty(Shape{7});
  cpu::unfold_grad(sums, numbers(Shape{3, 3}), Shape{7}, dim_of(sums, 0), 3, 2);
  CHECK(sums.data<float>()[2] == at(numbers(Shape{3, 3}), 0, 2) + at(numbers(Shape{3, 3}), 1, 0));
}

TEST(moments) {
  const Tensor x = numbers(Shape{4, 50, 130});
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] += 1000;
  const int64_t middle[] = {1}, ends[] = {0, 2};
  const Tensor columns = empty(Shape{4, 130}), spread = empty(Shape{50});
  cpu::baseline::var(columns, x, dims_of(x, middle), 1, false);
  cpu::baseline::var(spread, x, dims_of(x, ends), 0, false);
  const auto variance = [&](auto&& value, int64_t n, double correction) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) mean += value(i) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) squares += (value(i) - mean) * (value(i) - mean);
    return squares / (static_cast<double>(n) - correction);
  };
  const auto column = [&](int64_t i) { return double{x.data<float>()[(50 + i) * 130 + 129]}; };
  CHECK(std::abs(columns.data<float>()[259] - variance(column, 50, 1)) < 1e-6);
  const auto slice = [&](int64_t i) {
    return double{x.data<float>()[(i / 130 * 50 + 7) * 130 + i % 130]};
  };
  CHECK(std::abs(spread.data<float>()[7] - variance(slice, 520, 0)) < 1e-6);
  const Tensor sums = empty(Shape{4, 50});
  const int64_t last[] = {2};
  cpu::baseline::real_logsumexp(sums, x, dims_of(x, last), false);
  double sum = 0;
  for (int64_t i = 0; i < 130; ++i) sum += std::exp(x.data<float>()[i] - 1000.0);
  CHECK(std::abs(sums.data<float>()[0] - (1000 + std::log(sum))) < 1e-3);
}

}  // namespace
