#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/tensor/views.h"
#include "core/threads/parallel.h"
#include "cpu/dtype_switch.h"
#include "cpu/math.h"
#include "cpu/nn/exponentials.h"
#include "cpu/reduce/reduced_rows.h"
#include "cpu/row_extrema.h"
#include "cpu/rows.h"
#include "kernels/moments.h"

#include "core/math/exponentials.h"

/// Variance in two passes (mean, then squared distances), each row while it is in the cache, summed
/// in double: accurate for any mean. Long single rows are cut into parts of fixed size, so that
/// results do not depend on the number of threads.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int64_t kPart = 65536;   // elements of a long row that one task sums
constexpr int64_t kColumns = 128;  // columns that are summed side by side

template <class T>
using Wide = std::conditional_t<is_half_type<T>, float, T>;

template <class T>
double sum_run(const T* data, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(static_cast<Wide<T>>(data[i]));
  return sum;
}

template <class T>
double square_run(const T* data, int64_t count, double mean) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    const double distance = static_cast<double>(static_cast<Wide<T>>(data[i])) - mean;
    sum += distance * distance;
  }
  return sum;
}

/// The sum of part(begin, length) over a row, parts on several threads.
template <class Part>
double sum_parts(int64_t count, const Part& part) {
  const int64_t parts = (count + kPart - 1) / kPart;
  std::vector<double> sums(static_cast<size_t>(parts), 0);
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      sums[static_cast<size_t>(p)] = part(p * kPart, std::min(kPart, count - p * kPart));
    }
  });
  double sum = 0;
  for (const double value : sums) sum += value;
  return sum;
}

/// Takes the squared distances and means of `count` outputs from the first on. A function of any
/// kind, so that the loops exist once for all that is made of them.
using Store =
    FunctionRef<void(int64_t first, int64_t count, const double* squares, const double* means)>;

template <class T>
void moments_of_long_row(const T* x, int64_t n, int64_t row, Store store) {
  const double mean =
      sum_parts(n, [&](int64_t at, int64_t size) { return sum_run(x + at, size); }) /
      static_cast<double>(n);
  const double square =
      sum_parts(n, [&](int64_t at, int64_t size) { return square_run(x + at, size, mean); });
  store(row, 1, &square, &mean);
}

/// Dense rows, one after the other.
template <class T>
void moments_of_rows(const ReducedRows& rows, Store store) {
  const T* const data = rows.data.data<T>();
  const int64_t n = rows.count;
  if (rows.outer < num_threads() && n > 2 * kPart) {
    for (int64_t row = 0; row < rows.outer; ++row)
      moments_of_long_row(data + row * n, n, row, store);
    return;
  }
  parallel_for(0, rows.outer, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)),
               [&](int64_t begin, int64_t end) {
                 double mean[kColumns], square[kColumns];
                 for (int64_t first = begin; first < end; first += kColumns) {
                   const int64_t count = std::min(kColumns, end - first);
                   for (int64_t i = 0; i < count; ++i) {
                     const T* const x = data + (first + i) * n;
                     mean[i] = sum_run(x, n) / static_cast<double>(n);
                     square[i] = square_run(x, n, mean[i]);
                   }
                   store(first, count, square, mean);
                 }
               });
}

/// Columns side by side.
template <class T>
void moments_of_columns(const ReducedRows& rows, Store store) {
  const T* const data = rows.data.data<T>();
  const int64_t n = rows.count, inner = rows.inner;
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n * kColumns));
  parallel_for(0, rows.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    double mean[kColumns], square[kColumns];
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block % blocks * kColumns, width = std::min(kColumns, inner - first);
      const T* const x = data + block / blocks * n * inner + first;
      std::fill_n(mean, width, 0.0);
      std::fill_n(square, width, 0.0);
      for (int64_t i = 0; i < n; ++i) {
        const T* const row = x + i * inner;
#pragma omp simd
        for (int64_t j = 0; j < width; ++j)
          mean[j] += static_cast<double>(static_cast<Wide<T>>(row[j]));
      }
      for (int64_t j = 0; j < width; ++j) mean[j] /= static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) {
        const T* const row = x + i * inner;
#pragma omp simd
        for (int64_t j = 0; j < width; ++j) {
          const double distance = static_cast<double>(static_cast<Wide<T>>(row[j])) - mean[j];
          square[j] += distance * distance;
        }
      }
      store(block / blocks * inner + first, width, square, mean);
    }
  });
}

template <class T>
void moments_of(const ReducedRows& rows, Store store) {
  rows.inner == 1 ? moments_of_rows<T>(rows, store) : moments_of_columns<T>(rows, store);
}

template <class T>
T narrowed(double value) {
  return T(static_cast<Wide<T>>(value));
}

/// Divides by n - correction; less than that many elements give NaN or infinity, as 0 / 0 does.
/// Nothing has no variance, whatever the correction.
double variance(double squares, int64_t n, double correction) {
  if (n == 0) return std::numeric_limits<double>::quiet_NaN();
  return squares / std::max(0.0, static_cast<double>(n) - correction);
}

/// store.operator()<T>(index, squared distances, mean, n) for every output; T: type of the
/// elements. The squared distances of complex numbers are those of both parts together.
template <class StoreOne>
void visit_moments(const Tensor& self, const std::optional<Dims>& dim, const char* op,
                   const StoreOne& store) {
  visit_dtype(self.dtype(), [&]<class T>() {
    if constexpr (is_complex_type<T>) {
      using Real = typename T::value_type;
      const DType dtype = dtype_of<Real>;
      const ReducedRows real(make_view(self, views::real(self), dtype), dim, op);
      const ReducedRows imag(make_view(self, views::imag(self), dtype), dim, op);
      const size_t results = static_cast<size_t>(real.outer * real.inner);
      std::vector<double> real_squares(results), real_means(results);
      moments_of<Real>(
          real, [&](int64_t first, int64_t count, const double* squares, const double* means) {
            std::copy_n(squares, count, &real_squares[static_cast<size_t>(first)]);
            std::copy_n(means, count, &real_means[static_cast<size_t>(first)]);
          });
      moments_of<Real>(
          imag, [&](int64_t first, int64_t count, const double* squares, const double* means) {
            for (int64_t i = 0; i < count; ++i) {
              const size_t at = static_cast<size_t>(first + i);
              store.template operator()<T>(first + i, real_squares[at] + squares[i],
                                           complex<double>(real_means[at], means[i]), imag.count);
            }
          });
    } else if constexpr (is_half_type<T> || std::is_floating_point_v<T>) {
      const ReducedRows rows(self, dim, op);
      moments_of<T>(rows,
                    [&](int64_t first, int64_t count, const double* squares, const double* means) {
                      for (int64_t i = 0; i < count; ++i)
                        store.template operator()<T>(first + i, squares[i], means[i], rows.count);
                    });
    } else {
      fail(ErrorKind::runtime, op, "(): expected floating-point or complex elements, got ",
           name(self.dtype()));
    }
  });
}

}  // namespace

void var(const Tensor& result, const Tensor& self, const std::optional<Dims>& dim,
         double correction, bool) {
  visit_moments(self, dim, "var", [&]<class T>(int64_t i, double squares, auto, int64_t n) {
    using R = RealOf<T>;
    result.data<R>()[i] = narrowed<R>(variance(squares, n, correction));
  });
}

void std(const Tensor& result, const Tensor& self, const std::optional<Dims>& dim,
         double correction, bool) {
  visit_moments(self, dim, "std", [&]<class T>(int64_t i, double squares, auto, int64_t n) {
    using R = RealOf<T>;
    result.data<R>()[i] = narrowed<R>(std::sqrt(variance(squares, n, correction)));
  });
}

void var_mean(const Tensor& var, const Tensor& mean, const Tensor& self,
              const std::optional<Dims>& dim, double correction, bool) {
  visit_moments(self, dim, "var_mean",
                [&]<class T>(int64_t i, double squares, auto average, int64_t n) {
                  using R = RealOf<T>;
                  var.data<R>()[i] = narrowed<R>(variance(squares, n, correction));
                  if constexpr (is_complex_type<T>) {
                    mean.data<T>()[i] = T(average);
                  } else {
                    mean.data<T>()[i] = narrowed<T>(average);
                  }
                });
}

namespace {

/// log(sum(exp(x))) of one dense row; infinities stay what they are.
template <class T>
T logsumexp_row(const T* x, int64_t n, RowBuffer<T>& buffer) {
  using C = Compute<T>;
  if (n == 0) return T(-std::numeric_limits<C>::infinity());
  const C* const values = buffer.load(x, n);
  const C top = row_max(values, n);
  if (!std::isfinite(top)) return T(top);
  const C sum = sum_terms<C>(n, [=](int64_t i) { return exponential(values[i] - top); });
  return T(math::log(sum) + top);
}

/// The same of `width` columns, each `n` elements that are `inner` apart.
template <class T>
void logsumexp_columns(T* out, const T* x, int64_t n, int64_t inner, int64_t width) {
  using C = Compute<T>;
  constexpr int64_t kRows = 64;  // whose sums are added to those of all
  constexpr C kNothing = -std::numeric_limits<C>::infinity();
  C top[kColumns], sum[kColumns] = {};
  std::fill_n(top, width, kNothing);
  for (int64_t i = 0; i < n; ++i) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      const C value = static_cast<C>(x[i * inner + j]);
      top[j] = value > top[j] || value != value ? value : top[j];
    }
  }
  for (int64_t first = 0; first < n; first += kRows) {
    C part[kColumns] = {};
    for (int64_t i = first; i < std::min(first + kRows, n); ++i) {
#pragma omp simd
      for (int64_t j = 0; j < width; ++j)
        part[j] += exponential(static_cast<C>(x[i * inner + j]) - top[j]);
    }
    for (int64_t j = 0; j < width; ++j) sum[j] += part[j];
  }
  for (int64_t j = 0; j < width; ++j)
    out[j] = T(std::isfinite(top[j]) ? math::log(sum[j]) + top[j] : top[j]);
}

}  // namespace

void real_logsumexp(const Tensor& result, const Tensor& self, const Dims& dim, bool) {
  const ReducedRows rows(self, dim, "logsumexp");
  with_floating(self.dtype(), "logsumexp", [&]<class T>() {
    const T* const data = rows.data.data<T>();
    T* const out = result.data<T>();
    const int64_t n = rows.count, inner = rows.inner, work = 8 * std::max<int64_t>(1, n);
    if (inner == 1) {
      parallel_for(0, rows.outer, std::max<int64_t>(1, kGrain / work),
                   [&](int64_t begin, int64_t end) {
                     RowBuffer<T> buffer(n);
                     for (int64_t i = begin; i < end; ++i)
                       out[i] = logsumexp_row(data + i * n, n, buffer);
                   });
      return;
    }
    const int64_t blocks = (inner + kColumns - 1) / kColumns;
    parallel_for(0, rows.outer * blocks, std::max<int64_t>(1, kGrain / (work * kColumns)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t block = begin; block < end; ++block) {
                     const int64_t outer = block / blocks, first = block % blocks * kColumns;
                     logsumexp_columns(out + outer * inner + first,
                                       data + outer * n * inner + first, n, inner,
                                       std::min(kColumns, inner - first));
                   }
                 });
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
