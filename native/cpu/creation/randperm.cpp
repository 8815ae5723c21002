#include <numeric>
#include <vector>

#include "core/generator.h"
#include "cpu/dtype_switch.h"
#include "kernels/random.h"

namespace flambeau::cpu {
namespace {

uint64_t random_bits(const RandomStream& stream, int64_t i) {
  const RandomWords words = random_words(stream, static_cast<uint64_t>(i), 0);
  return static_cast<uint64_t>(words.word[1]) << 32 | words.word[0];
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
    T* const out = result.data<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = from_number<T>(order[static_cast<size_t>(i)]);
  });
}

}  // namespace flambeau::cpu
