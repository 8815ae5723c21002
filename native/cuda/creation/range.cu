#include "core/iteration/linear_spacing.h"
#include "cuda/loops.cuh"
#include "cuda/math.cuh"
#include "kernels/creation_cuda.h"

#include "core/math/powers.h"

namespace flambeau::cuda {
namespace {

struct Integers {
  int64_t first, distance;
  __device__ int64_t operator()(int64_t i) const { return first + i * distance; }
};
struct Numbers {
  double first, distance;
  __device__ double operator()(int64_t i) const {
    return first + distance * static_cast<double>(i);
  }
};
template <class Place>
struct Powers {
  LinearSpacing<Place> exponents;
  Place base;
  __device__ Place operator()(int64_t i) const { return math::pow(base, exponents(i)); }
};
struct Diagonal {
  int64_t columns;
  __device__ double operator()(int64_t i) const { return i / columns == i % columns ? 1. : 0.; }
};

/// result[i] = function(i), in the result's dtype; the result is dense and row-major. `make` makes
/// the function, given the type that places are computed in.
template <class Make>
void generate(const Tensor& result, const char* op, const Make& make) {
  Iterator iter(op);
  iter.add_output(result, result.dtype());
  iter.build({.promoted = 0});
  switch (result.dtype()) {
#define FLAMBEAU_GENERATE(name, type, ...) \
  case DType::name:                        \
    return map_indexed<Types<Outs<type>, Ins<>>, Returns>(iter, make(PlaceOf<type>()));
    FLAMBEAU_FOR_EACH_COMPUTED_DTYPE(FLAMBEAU_GENERATE)
#undef FLAMBEAU_GENERATE
    default:
      fail(ErrorKind::runtime, op, ": no kernel computes with elements of dtype ", result.dtype());
  }
}

}  // namespace

void arange_start(const Tensor& result, const Scalar& start, const Scalar&, const Scalar& step,
                  std::optional<DType>, std::optional<Device>) {
  if (is_integral(result.dtype())) {
    const Integers integers{start.to<int64_t>(), step.to<int64_t>()};
    return generate(result, "arange", [&](auto) { return integers; });
  }
  const Numbers numbers{start.to<double>(), step.to<double>()};
  generate(result, "arange", [&](auto) { return numbers; });
}

void linspace(const Tensor& result, const Scalar& start, const Scalar& end, int64_t steps,
              std::optional<DType>, std::optional<Device>) {
  generate(result, "linspace", [&]<class Place>(Place) {
    return LinearSpacing<Place>(start, end, steps, result.dtype());
  });
}

void logspace(const Tensor& result, const Scalar& start, const Scalar& end, int64_t steps,
              double base, std::optional<DType>, std::optional<Device>) {
  generate(result, "logspace", [&]<class Place>(Place) {
    return Powers<Place>{LinearSpacing<Place>(start, end, steps, result.dtype()), Place(base)};
  });
}

void eye(const Tensor& result, int64_t, std::optional<int64_t>, std::optional<DType>,
         std::optional<Device>) {
  const Diagonal diagonal{result.size(1)};
  generate(result, "eye", [&](auto) { return diagonal; });
}

}  // namespace flambeau::cuda
