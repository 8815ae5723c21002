#include "core/tensor/tensor.h"
#include "cpu/linalg/vector.h"
#include "cpu/rows.h"
#include "cpu/sparse/groups.h"
#include "kernels/sparse_parts.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Columns that are summed up together: they stay in the first-level cache, or in registers.
constexpr int64_t kColumns = 512, kNarrowVectors = 4;
template <class T>
constexpr int64_t kNarrow = 256 / static_cast<int64_t>(sizeof(T));
template <>
constexpr int64_t kNarrow<float> = kNarrowVectors* kLanes<float>;
template <>
constexpr int64_t kNarrow<double> = kNarrowVectors* kLanes<double>;

/// Calls function.operator()<T>() for floating and complex dtypes.
template <class Function>
void with_numbers(DType dtype, const char* op, const Function& function) {
  if (dtype == DType::complex64) return function.template operator()<complex<float>>();
  if (dtype == DType::complex128) return function.template operator()<complex<double>>();
  with_floating(dtype, op, function);
}

template <class C>
C conjugate(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    return value;
  } else {
    return C(value.re, -value.im);
  }
}

template <class T>
Compute<T> as_compute(T value) {
  return static_cast<Compute<T>>(value);
}

/// sum += factor * row
template <class C>
void add_row(C* __restrict sum, const C* __restrict row, C factor, int64_t count) {
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) sum[j] += factor * row[j];
}

/// A product whose entries stand row by row.
template <class T>
struct Product {
  const RowGroups& groups;
  const int64_t* columns;  // of each entry
  const T* values;
  const T* matrix;  // [*, width]
  T* out;           // [*, width]
  int64_t width;

  /// Columns of one row: the sum of rows of `matrix`, each times a value.
  void operator()(int64_t group, int64_t first, int64_t count) const {
    if constexpr (std::is_floating_point_v<T>)
      if (count == kNarrow<T>) return sum_in_registers(group, first);
    Compute<T> sum[kColumns] = {};
    RowBuffer<T> buffer(kColumns);
    for (int64_t i = groups.first(group); i < groups.first(group + 1); ++i) {
      const T* const row = matrix + columns[i] * width + first;
      add_row(sum, buffer.load(row, count), as_compute(values[i]), count);
    }
    T* const to = out + groups.row(group) * width + first;
    if constexpr (RowBuffer<T>::kConverts) {
      store_dense(to, sum, count);
    } else {
      std::copy(sum, sum + count, to);
    }
  }

 private:
  void sum_in_registers(int64_t group, int64_t first) const {
    constexpr int64_t lanes = kLanes<T>;
    Vector<T> sum[kNarrowVectors] = {};
    for (int64_t i = groups.first(group); i < groups.first(group + 1); ++i) {
      const T* const row = matrix + columns[i] * width + first;
      const Vector<T> factor = splat(values[i]);
#pragma GCC unroll 4
      for (int64_t j = 0; j < kNarrowVectors; ++j)
        sum[j] = multiply_add<T>(load(row + j * lanes), factor, sum[j]);
    }
    T* const to = out + groups.row(group) * width + first;
#pragma GCC unroll 4
    for (int64_t j = 0; j < kNarrowVectors; ++j) store(to + j * lanes, sum[j]);
  }
};

/// Columns that are summed up together: as many of a matrix that is met again and again as stay in
/// the second-level cache.
template <class T>
int64_t columns_at_a_time(int64_t rows, int64_t entries) {
  constexpr int64_t kNear = 768 << 10, kOften = 8;
  const bool stays = rows * kColumns * static_cast<int64_t>(sizeof(T)) <= kNear;
  return stays || entries < kOften * rows ? kColumns : kNarrow<T>;
}

void check_columns(const int64_t* columns, int64_t count, int64_t extent, const char* op) {
  for (int64_t i = 0; i < count; ++i) {
    check(columns[i] >= 0 && columns[i] < extent, ErrorKind::runtime, op, ": index ", columns[i],
          " of the sparse matrix is out of range for ", extent, " places");
  }
}

/// The sum of a[j] times the conjugate of b[j].
template <class T>
T dot(const T* a, const T* b, int64_t count, RowBuffer<T>& left, RowBuffer<T>& right) {
  using C = Compute<T>;
  C sum = C(0);
  for (int64_t first = 0; first < count; first += kColumns) {
    const int64_t part = std::min(kColumns, count - first);
    const C* const x = left.load(a + first, part);
    const C* const y = right.load(b + first, part);
    if constexpr (std::is_floating_point_v<C>) {
      sum += sum_terms<C>(part, [=](int64_t j) { return x[j] * y[j]; });
    } else {
      for (int64_t j = 0; j < part; ++j) sum += x[j] * conjugate(y[j]);
    }
  }
  if constexpr (RowBuffer<T>::kConverts) {
    T result;
    store_dense(&result, &sum, 1);
    return result;
  } else {
    return sum;
  }
}

}  // namespace

void sparse_product(const Tensor& result, const Tensor& indices, const Tensor& values, int64_t rows,
                    const Tensor& mat2) {
  fill_data(result, 0);
  const RowGroups groups(index_row(indices, 0), rows, "mm()");
  const Tensor column_row = index_row(indices, 1);
  const int64_t* const columns = column_row.data<int64_t>();
  check_columns(columns, column_row.numel(), mat2.size(0), "mm()");
  const int64_t width = mat2.size(1);
  if (width == 0 || groups.count() == 0) return;
  const Tensor dense = contiguous_data(mat2), numbers = contiguous_data(values);
  const int64_t entries = numbers.numel(), per_group = entries / groups.count() + 1;
  with_numbers(result.dtype(), "mm()", [&]<class T>() {
    // Row by row, as each part of the columns meets them.
    const Tensor column = empty(Shape{entries}, DType::int64);
    const Tensor value = empty(Shape{entries}, result.dtype());
    parallel_for(0, entries, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        column.data<int64_t>()[i] = columns[groups.entry(i)];
        value.data<T>()[i] = numbers.data<T>()[groups.entry(i)];
      }
    });
    const Product<T> product{groups,          column.data<int64_t>(), value.data<T>(),
                             dense.data<T>(), result.data<T>(),       width};
    const int64_t step = columns_at_a_time<T>(mat2.size(0), entries);
    const int64_t parts = (width + step - 1) / step;
    for_rows(groups.count() * parts, std::min(width, step), per_group,
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t first = i / groups.count() * step;
                 product(i % groups.count(), first, std::min(step, width - first));
               }
             });
  });
}

void sparse_sampled(const Tensor& result, const Tensor& indices, const Tensor& self,
                    const Tensor& other) {
  const Tensor row = index_row(indices, 0), column = index_row(indices, 1);
  check_columns(row.data<int64_t>(), row.numel(), self.size(0), "mm()");
  check_columns(column.data<int64_t>(), column.numel(), other.size(0), "mm()");
  const Tensor left = contiguous_data(self), right = contiguous_data(other);
  const int64_t width = self.size(1);
  with_numbers(result.dtype(), "mm()", [&]<class T>() {
    for_rows(row.numel(), width + 1, 1, [&](int64_t begin, int64_t end) {
      RowBuffer<T> first(kColumns), second(kColumns);
      for (int64_t i = begin; i < end; ++i) {
        result.data<T>()[i] =
            dot(left.data<T>() + row.data<int64_t>()[i] * width,
                right.data<T>() + column.data<int64_t>()[i] * width, width, first, second);
      }
    });
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
