// Sorting and selection against std::stable_sort.
#include <algorithm>
#include <cmath>
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
    const int64_t k = std::min<int64_t>(length, 5);
    const Tensor best = empty(Shape{3, k}, x.dtype()), where = empty(Shape{3, k}, DType::int64);
    cpu::topk(best, where, x, k, dim_of(x, 1), descending, true);
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        CHECK(where.data<int64_t>()[row * k + i] == indices.data<int64_t>()[row * length + i]);
      }
    }
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
  cpu::median_position(place, with_nan, dim_of(with_nan, 0), false);
  CHECK(*place.data<int64_t>() == expected_order(with_nan.data<float>(), 9, false)[4]);
  with_nan.data<float>()[6] = kNan;
  cpu::median_position(place, with_nan, dim_of(with_nan, 0), false);
  CHECK(*place.data<int64_t>() == 6);
}

TEST(sort_and_topk) {
  for (const int64_t length : {1, 3, 100, 300, 5000}) {
    for (const int64_t distinct : {4, 1000000}) {
      check_sort<float>(length, distinct);
      check_sort<double>(length, distinct);
      check_sort<int64_t>(length, distinct);
      check_sort<int32_t>(length, distinct);
      if (distinct == 4) check_sort<int8_t>(length, distinct);
    }
  }
}

}  // namespace

int main() { return flambeau::testing::run_all(); }
