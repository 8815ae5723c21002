#include <cmath>
#include <complex>

#include "core/iteration/linear_spacing.h"
#include "core/threads/parallel.h"
#include "cpu/dtype_switch.h"
#include "kernels/creation.h"

namespace flambeau::cpu {
namespace {

/// result[i] = function(i), several threads when there are many.
template <class T, class Function>
void generate(const Tensor& result, const Function& function) {
  T* const out = result.data<T>();
  parallel_for(0, result.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(function(i));
  });
}

double power(double base, double exponent) { return std::pow(base, exponent); }

complex<double> power(complex<double> base, complex<double> exponent) {
  const std::complex<double> result = std::pow(std::complex<double>(base.re, base.im),
                                               std::complex<double>(exponent.re, exponent.im));
  return {result.real(), result.imag()};
}

}  // namespace

void arange_start(const Tensor& result, const Scalar& start, const Scalar&, const Scalar& step,
                  std::optional<DType>, std::optional<Device>) {
  visit_stored_dtype(result.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const int64_t first = start.to<int64_t>(), distance = step.to<int64_t>();
      return generate<T>(result, [=](int64_t i) { return first + i * distance; });
    }
    const double first = start.to<double>(), distance = step.to<double>();
    generate<T>(result, [=](int64_t i) {
      return from_number<T>(first + distance * static_cast<double>(i));
    });
  });
}

void linspace(const Tensor& result, const Scalar& start, const Scalar& end, int64_t steps,
              std::optional<DType>, std::optional<Device>) {
  visit_stored_dtype(result.dtype(), [&]<class T>() {
    const LinearSpacing<PlaceOf<T>> spaced(start, end, steps, result.dtype());
    generate<T>(result, [&](int64_t i) { return from_number<T>(spaced(i)); });
  });
}

void logspace(const Tensor& result, const Scalar& start, const Scalar& end, int64_t steps,
              double base, std::optional<DType>, std::optional<Device>) {
  visit_stored_dtype(result.dtype(), [&]<class T>() {
    const LinearSpacing<PlaceOf<T>> spaced(start, end, steps, result.dtype());
    const PlaceOf<T> radix = base;
    generate<T>(result, [&](int64_t i) { return from_number<T>(power(radix, spaced(i))); });
  });
}

void eye(const Tensor& result, int64_t, std::optional<int64_t>, std::optional<DType>,
         std::optional<Device>) {
  fill_data(result, 0);
  const int64_t rows = result.size(0), columns = result.size(1);
  visit_stored_dtype(result.dtype(), [&]<class T>() {
    T* const out = result.data<T>();
    for (int64_t i = 0; i < std::min(rows, columns); ++i) {
      out[i * (columns + 1)] = from_number<T>(1.0);
    }
  });
}

}  // namespace flambeau::cpu
