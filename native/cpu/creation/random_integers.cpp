#include <numeric>
#include <vector>

#include "core/generator.h"
#include "core/parallel.h"
#include "cpu/dtype_switch.h"
#include "kernels/random.h"

namespace flambeau::cpu {
namespace {

uint64_t random_bits(const RandomStream& stream, int64_t i) {
  const RandomWords words = random_words(stream, static_cast<uint64_t>(i), 0);
  return static_cast<uint64_t>(words.word[1]) << 32 | words.word[0];
}

template <class T>
T from_integer(int64_t value) {
  if constexpr (is_complex_type<T>) {
    return T(static_cast<typename T::value_type>(value));
  } else if constexpr (is_half_type<T>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

void random_integers_(const Tensor& self, int64_t low, int64_t high, Generator* generator) {
  const int64_t numel = self.numel();
  const RandomStream stream = generator_or_default(generator).reserve(static_cast<uint64_t>(numel));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Tensor dense =
      self.is_contiguous() ? self : flambeau::empty(self.sizes(), self.dtype(), self.device());
  visit_dtype(self.dtype(), [&]<class T>() {
    T* const out = dense.data<T>();
    parallel_for(0, numel, kGrain / 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = from_integer<T>(integer_in_range(random_bits(stream, i), low, range));
      }
    });
  });
  if (!dense.is_same(self)) copy_data(self, dense);
}

void randperm(const Tensor& result, int64_t n, Generator* generator, std::optional<DType>,
              std::optional<Device>) {
  const RandomStream stream = generator_or_default(generator).reserve(static_cast<uint64_t>(n));
  // Fisher and Yates, from the front.
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t j = integer_in_range(random_bits(stream, i), i, static_cast<uint64_t>(n - i));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  visit_dtype(result.dtype(), [&]<class T>() {
    T* const out = result.data<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = from_integer<T>(order[static_cast<size_t>(i)]);
  });
}

}  // namespace flambeau::cpu
