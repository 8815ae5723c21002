#include <limits>
#include <numeric>
#include <vector>

#include "core/random/generator.h"
#include "core/types/element_types.h"
#include "cpu/dtype_switch.h"
#include "kernels/random.h"

namespace flambeau::cpu {
namespace {

uint64_t random_bits(const RandomStream& stream, int64_t i) {
  const RandomWords words = random_words(stream, static_cast<uint64_t>(i), 0);
  return static_cast<uint64_t>(words.word[1]) << 32 | words.word[0];
}

/// How many of 0, 1, 2, ... have a number of their own.
template <class T>
int64_t most_integers() {
  if constexpr (std::is_integral_v<T>) {
    constexpr int64_t largest = std::numeric_limits<T>::max();
    return largest == std::numeric_limits<int64_t>::max() ? largest : largest + 1;
  }
  using Real = RealOf<T>;
  constexpr int digits = std::is_same_v<Real, float16>    ? 11
                         : std::is_same_v<Real, bfloat16> ? 8
                                                          : std::numeric_limits<Real>::digits;
  return (int64_t{1} << digits) + 1;
}

}  // namespace

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
    const int64_t most = most_integers<T>();
    check(n <= most, ErrorKind::runtime, "randperm(): argument n = ", n, " is too large for ",
          result.dtype(), ", which holds the integers from 0 to below ", most);
    T* const out = result.data<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = from_number<T>(order[static_cast<size_t>(i)]);
  });
}

}  // namespace flambeau::cpu
