#pragma once

/// One draw per element by methods that try until a draw is accepted, in parallel.

#include "core/random/generator.h"
#include "core/random/sequence.h"
#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"
#include "cpu/dtype_switch.h"
#include "cpu/math.h"

namespace flambeau::cpu::FLAMBEAU_ISA::detail {

/// result[i] = draw(RandomSequence&, parameters[i]...), computed in double; parameters have the
/// shape of the result.
template <class Draw, class... Parameters>
void fill_with_draws(const Tensor& result, Generator* generator, const Draw& draw,
                     const Parameters&... parameters) {
  const int64_t numel = result.numel();
  const RandomStream stream = generator_or_default(generator).reserve(static_cast<uint64_t>(numel));
  const auto fill = [&](const auto&... dense) {
    visit_dtype(result.dtype(), [&]<class T>() {
      T* const out = result.data<T>();
      parallel_for(0, numel, kGrain / 64, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          RandomSequence sequence(stream, i);
          out[i] = from_number<T>(draw(sequence, dense.template data<double>()[i]...));
        }
      });
    });
  };
  fill(contiguous_data(cast_data(parameters, DType::float64))...);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA::detail
