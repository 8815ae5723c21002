#include <optional>

#include "backend.h"
#include "core/backends/dispatch.h"
#include "core/iteration/iterator.h"
#include "core/random/generator.h"
#include "map.h"
#include "texts.h"

namespace flambeau::opencl {
namespace {

/// Runs a kernel that writes elements by their position; `result` is dense.
void generate(const char* name, const Tensor& result, const Arguments& arguments) {
  check_dtype(name, result.dtype(), ~dtype_mask({DType::complex64, DType::complex128}));
  Iterator iter(name);
  iter.add_output(result, result.dtype());
  iter.build({.promoted = 0});
  map(name, texts::fill, iter, arguments);
}

bool counts(DType dtype) { return is_integral(dtype) || dtype == DType::bool_; }

void arange(const Tensor& result, const Scalar& start, const Scalar&, const Scalar& step,
            std::optional<DType>, std::optional<Device>) {
  Arguments arguments(counts(result.dtype()));
  arguments.number(start);
  arguments.number(step);
  generate("arange", result, arguments);
}

void linspace(const Tensor& result, const Scalar& start, const Scalar& end, int64_t,
              std::optional<DType>, std::optional<Device>) {
  Arguments arguments;
  arguments.real(start.to<double>());
  arguments.real(end.to<double>());
  generate("linspace", result, arguments);
}

void random_integers(const Tensor& self, int64_t low, int64_t high, Generator* generator) {
  const Tensor dense =
      self.is_contiguous() ? self : empty(self.sizes(), self.dtype(), self.device());
  Arguments arguments;
  arguments.stream(generator_or_default(generator).reserve(counters_for(self.numel())));
  arguments.integer(low);
  arguments.integer(static_cast<int64_t>(static_cast<uint64_t>(high) - static_cast<uint64_t>(low)));
  generate("random_integers", dense, arguments);
  if (!dense.is_same(self)) copy_data(self, dense);
}

const Register register_arange{"arange_start", backend(), &arange};
const Register register_linspace{"linspace", backend(), &linspace};
const Register register_random_integers{"random_integers_", backend(), &random_integers};

}  // namespace
}  // namespace flambeau::opencl
