#include "core/random/generator.h"
#include "core/types/largest_below.h"
#include "cpu/dtype_switch.h"
#include "cpu/random_fill.h"
#include "kernels/random.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// The integer as an element below `high`, which a floating type of few digits might round it to.
template <class T>
struct Rounded {
  int64_t high;
  T operator()(int64_t value) const { return from_number<T>(value); }
};
template <class T>
requires(std::is_floating_point_v<T> || is_half_type<T>) struct Rounded<T> {
  T highest;
  explicit Rounded(int64_t high) : highest(largest_below<T>(static_cast<double>(high))) {}
  T operator()(int64_t value) const {
    const T rounded = from_number<T>(value);
    return rounded > highest ? highest : rounded;
  }
};

}  // namespace

void random_integers_(const Tensor& self, int64_t low, int64_t high, Generator* generator) {
  constexpr int64_t kChunk = 512;
  const int64_t numel = self.numel();
  const RandomStream stream = generator_or_default(generator).reserve(counters_for(numel));
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Tensor dense =
      self.is_contiguous() ? self : flambeau::empty(self.sizes(), self.dtype(), self.device());
  visit_stored_dtype(self.dtype(), [&]<class T>() {
    T* const out = dense.data<T>();
    const Rounded<T> rounded{high};
    parallel_for(0, numel, kGrain / 8, [&](int64_t begin, int64_t end) {
      alignas(64) char buffer[kChunk * sizeof(uint64_t) + detail::kDrawSlack];
      for (; begin < end; begin += kChunk) {
        const int64_t count = std::min(kChunk, end - begin);
        const auto* bits = reinterpret_cast<const uint64_t*>(
            detail::fill_draw(buffer, detail::DrawKind::bits, stream, 0, begin, count));
        for (int64_t i = 0; i < count; ++i)
          out[begin + i] = rounded(integer_in_range(bits[i], low, range));
      }
    });
  });
  if (!dense.is_same(self)) copy_data(self, dense);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
