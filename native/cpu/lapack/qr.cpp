#include "cpu/lapack/blocks.h"
#include "cpu/lapack/lanes.h"
#include "kernels/linalg_qr.h"

namespace flambeau::cpu {

using namespace lapack;

namespace {

/// R and reflections of matrices [begin, end), a whole number of lanes.
template <class T>
void factor_tiny(const Batch<const T>& given, const Batch<T>& wanted, const Batch<T>& factors,
                 int64_t begin, int64_t end) {
  const LaneFactors<T>& kernels = lane_factors<T>();
  Lanes<T> elements(kernels.lanes, given.rows(), given.columns());
  Lanes<T> numbers(kernels.lanes, factors.rows(), 1);
  for (; begin < end; begin += kernels.lanes) {
    elements.take(given, begin);
    kernels.reflect(given.rows(), given.columns(), elements.data(), numbers.data());
    elements.give(wanted, begin);
    numbers.give(factors, begin);
  }
}

template <class T>
void multiply_tiny(const Batch<T>& products, const Batch<const T>& given,
                   const Batch<const T>& factors, int64_t begin, int64_t end) {
  const LaneFactors<T>& kernels = lane_factors<T>();
  const int64_t m = given.rows(), n = given.columns(), k = factors.rows();
  Lanes<T> vectors(kernels.lanes, m, n), numbers(kernels.lanes, k, 1);
  Lanes<T> found(kernels.lanes, m, n);
  for (; begin < end; begin += kernels.lanes) {
    vectors.take(given, begin);
    numbers.take(factors, begin);
    kernels.multiply_reflections(m, n, k, vectors.data(), numbers.data(), found.data());
    found.give(products, begin);
  }
}

/// Of matrices [begin, end), a whole number of lanes. (c Q)' = Q' c', and Q' is the adjoint of the
/// product of conjugated reflections.
template <class T>
void reflect_tiny(const Batch<T>& changed, const Batch<const T>& given,
                  const Batch<const T>& factors, bool left, bool transpose, int64_t begin,
                  int64_t end) {
  const LaneFactors<T>& kernels = lane_factors<T>();
  const int64_t m = given.rows(), n = given.columns(), k = factors.rows();
  const int64_t lines = left ? changed.columns() : changed.rows();
  Lanes<T> vectors(kernels.lanes, m, n), numbers(kernels.lanes, k, 1), c(kernels.lanes, m, lines);
  for (; begin < end; begin += kernels.lanes) {
    vectors.take(given, begin);
    numbers.take(factors, begin);
    c.take(changed, begin, !left);
    if (!left) {
      vectors.conjugate();
      numbers.conjugate();
    }
    kernels.apply_reflections(left == transpose, m, lines, k, n, vectors.data(), numbers.data(),
                              c.data());
    c.give(changed, begin, !left);
  }
}

}  // namespace

void geqrf(const Tensor& a, const Tensor& tau, const Tensor& self) {
  visit_elements(self.dtype(), [&]<class T>() {
    const Batch<const T> given(self);
    const Batch<T> reflections(a), factors(tau, 1);
    const int64_t m = given.rows(), n = given.columns(), k = std::min(m, n);
    over_matrices(given.count(), m * n * k * 2, lanes_of<T>(m, n), [&](int64_t begin, int64_t end) {
      const int64_t tiny = begin + count_in_lanes<T>(begin, end, m, n);
      if (begin < tiny) factor_tiny(given, reflections, factors, begin, tiny);
      Scratch<T> scratch, scratch_factors;
      for (int64_t b = tiny; b < end; ++b) {
        const Columns<T> matrix(reflections[b], scratch), vector(factors[b], scratch_factors);
        matrix.fill(given[b]);
        factor_by_reflections(matrix.part(m, n), vector.data());
        matrix.finish();
        vector.finish();
      }
    });
  });
}

void reflections_product(const Tensor& result, const Tensor& a, const Tensor& tau) {
  visit_elements(a.dtype(), [&]<class T>() {
    const Batch<const T> given(a), factors(tau, 1);
    const Batch<T> products(result);
    const int64_t m = given.rows(), n = given.columns(), k = factors.rows();
    over_matrices(given.count(), m * n * k * 2, lanes_of<T>(m, n), [&](int64_t begin, int64_t end) {
      const int64_t tiny = begin + count_in_lanes<T>(begin, end, m, n);
      if (begin < tiny) multiply_tiny(products, given, factors, begin, tiny);
      Scratch<T> scratch;
      for (int64_t b = tiny; b < end; ++b) {
        T* const line = scratch.of(k);
        for (int64_t i = 0; i < k; ++i) line[i] = factors[b](i, 0);
        multiply_reflections(products[b], given[b], line, k);
      }
    });
  });
}

void reflected(const Tensor& result, const Tensor& self, const Tensor& tau, const Tensor& other,
               bool left, bool transpose) {
  copy_data(result, other);
  visit_elements(self.dtype(), [&]<class T>() {
    const Batch<const T> given(self), factors(tau, 1);
    const Batch<T> changed(result);
    const int64_t k = factors.rows();
    const int64_t work = 2 * changed.rows() * changed.columns() * k;
    const int64_t rows = std::max(changed.rows(), changed.columns());
    const int64_t most = std::max(given.rows(), given.columns());
    over_matrices(given.count(), work, lanes_of<T>(rows, most), [&](int64_t begin, int64_t end) {
      const int64_t tiny = begin + count_in_lanes<T>(begin, end, rows, most);
      if (begin < tiny) reflect_tiny(changed, given, factors, left, transpose, begin, tiny);
      Scratch<T> scratch;
      for (int64_t b = tiny; b < end; ++b) {
        T* const line = scratch.of(k);
        for (int64_t i = 0; i < k; ++i) line[i] = factors[b](i, 0);
        apply_reflections(changed[b], given[b], line, k, left, transpose);
      }
    });
  });
}

}  // namespace flambeau::cpu
