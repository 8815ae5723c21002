#include "core/tensor/tensor.h"
#include "cpu/rows.h"
#include "cpu/sparse/groups.h"
#include "kernels/sparse_parts.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Columns that are summed up together: they stay in the first-level cache.
constexpr int64_t kColumns = 512;

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

/// Columns of one row of the product: the sum of rows of `matrix`, each times a value.
template <class T>
struct Product {
  const RowGroups& groups;
  const int64_t* columns;  // of each entry
  const T* values;
  const T* matrix;  // [*, width]
  T* out;           // [*, width]
  int64_t width;

  void operator()(int64_t group, int64_t first, int64_t count) const {
    Compute<T> sum[kColumns] = {};
    RowBuffer<T> buffer(kColumns);
    for (const int64_t* entry = groups.begin(group); entry != groups.end(group); ++entry) {
      const T* const row = matrix + columns[*entry] * width + first;
      add_row(sum, buffer.load(row, count), as_compute(values[*entry]), count);
    }
    T* const to = out + groups.row(group) * width + first;
    if constexpr (RowBuffer<T>::kConverts) {
      store_dense(to, sum, count);
    } else {
      std::copy(sum, sum + count, to);
    }
  }
};

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
  const int64_t parts = (width + kColumns - 1) / kColumns;
  const int64_t per_group = numbers.numel() / groups.count() + 1;
  with_numbers(result.dtype(), "mm()", [&]<class T>() {
    const Product<T> product{groups,          columns,          numbers.data<T>(),
                             dense.data<T>(), result.data<T>(), width};
    for_rows(groups.count() * parts, std::min(width, kColumns), per_group,
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t first = i % parts * kColumns;
                 product(i / parts, first, std::min(kColumns, width - first));
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
