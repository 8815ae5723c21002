// Sorting and selection against std::stable_sort.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "check.h"
#include "core/random/random.h"
#include "core/tensor/tensor.h"
#include "kernels/sorting.h"

using namespace flambeau;

namespace {

/// A dim of a tensor, checked as operators check it.
Dim dim_of(const Tensor& x, int64_t dim) { return Dim(dim, x.dim(), {"test", "dim"}); }

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
Tensor random_tensor(IntList sizes, int64_t distinct, uint64_t seed) {
  const Tensor tensor = empty(sizes, dtype_of<T>);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const RandomWords words = random_words({seed, 0}, static_cast<uint64_t>(i), 0);
    tensor.data<T>()[i] = static_cast<T>(
        static_cast<int64_t>(words.word[0] % static_cast<uint64_t>(distinct)) - distinct / 2);
  }
  return tensor;
}

template <class T>
std::vector<int64_t> expected_order(const T* data, int64_t count, bool descending) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const auto less = [](T a, T b) { return !(a != a) && (b != b || a < b); };  // NaN last
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return descending ? less(data[b], data[a]) : less(data[a], data[b]);
  });
  return order;
}

/// The first k of each row in order, by its positions in order.
template <class T>
void check_topk(const Tensor& x, const Tensor& order, int64_t k, bool largest) {
  const int64_t length = x.size(1);
  const Tensor best = empty(Shape{3, k}, x.dtype()), where = empty(Shape{3, k}, DType::int64);
  cpu::topk(best, where, x, k, dim_of(x, 1), largest, true);
  bool same = true;
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t i = 0; i < k; ++i)
      same &= where.data<int64_t>()[row * k + i] == order.data<int64_t>()[row * length + i];
  }
  CHECK(same);
}

template <class T>
void check_kthvalue(const Tensor& x, const Tensor& order) {
  const int64_t length = x.size(1);
  for (const int64_t k : {int64_t{1}, length / 3 + 1, length}) {
    const Tensor value = empty(Shape{3}, x.dtype()), where = empty(Shape{3}, DType::int64);
    cpu::kthvalue(value, where, x, k, dim_of(x, 1), false);
    for (int64_t row = 0; row < 3; ++row)
      CHECK(where.data<int64_t>()[row] == order.data<int64_t>()[row * length + k - 1]);
  }
}

template <class T>
void check_sort(int64_t length, int64_t distinct) {
  const Tensor x = random_tensor<T>(Shape{3, length}, distinct, 7);
  if constexpr (std::is_floating_point_v<T>) {
    x.data<T>()[0] = -std::numeric_limits<T>::infinity();
    if (length > 2) x.data<T>()[1] = std::numeric_limits<T>::quiet_NaN();
    if (length > 4) x.data<T>()[4] = T(-0.0);
  }
  for (const bool descending : {false, true}) {
    const Tensor values = empty(x.sizes(), x.dtype()), indices = empty(x.sizes(), DType::int64);
    cpu::sort(values, indices, x, dim_of(x, -1), descending, false);
    for (int64_t row = 0; row < 3; ++row) {
      const T* const data = x.data<T>() + row * length;
      const std::vector<int64_t> order = expected_order(data, length, descending);
      bool same = true;
      for (int64_t i = 0; i < length; ++i) {
        const int64_t want = order[static_cast<size_t>(i)];
        const T value = values.data<T>()[row * length + i];
        same &= indices.data<int64_t>()[row * length + i] == want;
        same &= value == data[want] || (value != value && data[want] != data[want]);
      }
      CHECK(same);
    }
    for (const int64_t k : {std::min<int64_t>(length, 5), length / 2, length})
      check_topk<T>(x, indices, k, descending);
    if (!descending) check_kthvalue<T>(x, indices);
    const Tensor alone = empty(x.sizes(), x.dtype());
    cpu::sorted_values(alone, x, dim_of(x, -1), descending);
    CHECK(memcmp(alone.data<T>(), values.data<T>(), static_cast<size_t>(3 * length) * sizeof(T)) ==
          0);
  }
}

TEST(dims) {
  const Tensor x = random_tensor<float>(Shape{4, 5, 3}, 1000, 3);
  const Tensor values = empty(x.sizes(), x.dtype()), indices = empty(x.sizes(), DType::int64);
  cpu::sort(values, indices, x, dim_of(x, 1), false, false);
  const Tensor third = empty(Shape{4, 3}, x.dtype()), at = empty(Shape{4, 3}, DType::int64);
  cpu::kthvalue(third, at, x, 3, dim_of(x, 1), false);
  for (int64_t a = 0; a < 4; ++a) {
    for (int64_t c = 0; c < 3; ++c) {
      for (int64_t b = 0; b + 1 < 5; ++b) {
        const float* const v = values.data<float>() + (a * 5 + b) * 3 + c;
        CHECK(v[0] <= v[3]);
        CHECK(v[0] ==
              x.data<float>()[(a * 5 + indices.data<int64_t>()[(a * 5 + b) * 3 + c]) * 3 + c]);
      }
      CHECK(third.data<float>()[a * 3 + c] == values.data<float>()[(a * 5 + 2) * 3 + c]);
    }
  }
}

TEST(others) {
  const Tensor x = random_tensor<int32_t>(Shape{1000}, 20, 5);
  const auto [values, inverse, counts] = cpu::unique_elements(x, true);
  int64_t total = 0;
  for (int64_t i = 0; i < values.numel(); ++i) total += counts.data<int64_t>()[i];
  CHECK(total == 1000 && values.numel() <= 20);
  for (int64_t i = 0; i < 1000; ++i) {
    CHECK(values.data<int32_t>()[inverse.data<int64_t>()[i]] == x.data<int32_t>()[i]);
  }
  const Tensor with_nan = random_tensor<float>(Shape{9}, 100, 2);
  const Tensor place = empty(Shape(), DType::int64);
  cpu::median_position(place, with_nan, dim_of(with_nan, 0), false, false);
  CHECK(*place.data<int64_t>() == expected_order(with_nan.data<float>(), 9, false)[4]);
  with_nan.data<float>()[6] = kNan;
  cpu::median_position(place, with_nan, dim_of(with_nan, 0), false, false);
  CHECK(*place.data<int64_t>() == 6);
  cpu::median_position(place, with_nan, dim_of(with_nan, 0), false, true);
  CHECK(*place.data<int64_t>() == expected_order(with_nan.data<float>(), 9, false)[3]);
}

TEST(sort_and_topk) {
  for (const int64_t length : {1, 3, 100, 300, 5000, 20001}) {
    for (const int64_t distinct : {4, 1000000}) {
      check_sort<float>(length, distinct);
      check_sort<double>(length, distinct);
      check_sort<int64_t>(length, distinct);
      check_sort<int32_t>(length, distinct);
      if (distinct == 4) check_sort<int8_t>(length, distinct);
    }
  }
}

/// One row, which threads share.
template <class T>
void check_long_row(int64_t length, int64_t distinct) {
  const Tensor x = random_tensor<T>(Shape{length}, distinct, 11);
  const Tensor values = empty(x.sizes(), x.dtype()), indices = empty(x.sizes(), DType::int64);
  cpu::sort(values, indices, x, dim_of(x, 0), false, false);
  const std::vector<int64_t> order = expected_order(x.data<T>(), length, false);
  CHECK(std::equal(order.begin(), order.end(), indices.data<int64_t>()));
  const Tensor best = empty(Shape{50}, x.dtype()), where = empty(Shape{50}, DType::int64);
  cpu::topk(best, where, x, 50, dim_of(x, 0), false, true);
  CHECK(std::equal(order.begin(), order.begin() + 50, where.data<int64_t>()));
  const Tensor middle = empty(Shape(), x.dtype()), at = empty(Shape(), DType::int64);
  cpu::kthvalue(middle, at, x, length / 2, dim_of(x, 0), false);
  CHECK(*at.data<int64_t>() == order[static_cast<size_t>(length / 2 - 1)]);
  const Tensor unique = cpu::unique_values(x, true);
  std::vector<T> different(values.data<T>(), values.data<T>() + length);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  CHECK(unique.numel() == static_cast<int64_t>(different.size()) &&
        std::equal(different.begin(), different.end(), unique.data<T>()));
}

TEST(long_rows) {
  for (const int64_t distinct : {1, 5, 1000, 100000000}) {
    check_long_row<float>(200003, distinct);
    check_long_row<double>(200003, distinct);
    check_long_row<int16_t>(200003, std::min<int64_t>(distinct, 60000));
    check_long_row<int64_t>(200003, distinct);
  }
}

TEST(counts) {
  for (const int64_t distinct : {1000, 100000}) {
    const Tensor x = random_tensor<int64_t>(Shape{150000}, distinct, 4);
    std::vector<int64_t> counts;
    for (int64_t i = 0; i < x.numel(); ++i) {
      int64_t& value = x.data<int64_t>()[i];
      value = std::abs(value);
      if (value >= static_cast<int64_t>(counts.size()))
        counts.resize(static_cast<size_t>(value + 1));
      ++counts[static_cast<size_t>(value)];
    }
    const Tensor found = cpu::bincount(x, Tensor(), 0), longer = cpu::bincount(x, Tensor(), 200000);
    CHECK(found.numel() == static_cast<int64_t>(counts.size()) && longer.numel() == 200000);
    CHECK(std::equal(counts.begin(), counts.end(), found.data<int64_t>()));
    CHECK(std::equal(counts.begin(), counts.end(), longer.data<int64_t>()));
  }
}

}  // namespace
