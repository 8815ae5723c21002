#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"
#include "cpu/lapack/one_thread.h"
#include "cpu/lapack/routines.h"

/// Batches of matrices: tensors of any strides on one side, LAPACK's columns on the other.
namespace flambeau::cpu::lapack {

/// One matrix, or a vector as its only column.
template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns, row_step, column_step;

  T& operator()(int64_t row, int64_t column) const {
    return data[row * row_step + column * column_step];
  }
  /// Whether LAPACK can work on it in place.
  bool is_by_columns() const {
    return (row_step == 1 || rows <= 1) && (column_step >= std::max<int64_t>(rows, 1));
  }
};

/// The matrices in the last two dims of a tensor (of vectors: in the last) by number.
template <class T>
class Batch {
 public:
  /// `dims`: how many of the last dims are of one matrix: 2, or 1 or 0 for vectors and numbers.
  explicit Batch(const Tensor& tensor, size_t dims = 2)
      : data_(tensor.data<T>()), outer_(tensor.sizes().size() - dims) {
    for (size_t d = 0; d < tensor.sizes().size(); ++d) {
      sizes_.push_back(tensor.sizes()[d]);
      steps_.push_back(tensor.strides()[d]);
    }
    for (size_t d = outer_; d-- > 0;) {
      if (sizes_[d] == 1) continue;  // whatever its step
      if (count_ == 1) step_ = steps_[d];
      is_even_ &= steps_[d] == step_ * count_;
      count_ *= sizes_[d];
    }
    if (dims > 0) {
      const int64_t largest =
          *std::max_element(sizes_.begin() + static_cast<ptrdiff_t>(outer_), sizes_.end());
      check(largest <= std::numeric_limits<int>::max(), ErrorKind::runtime,
            "linalg: LAPACK counts rows and columns in 32 bits, got a matrix of ", largest);
    }
    if (dims > 0) first_ = {data_, sizes_[outer_], 1, steps_[outer_], sizes_[outer_]};
    if (dims > 1) first_ = {data_, sizes_[outer_], sizes_.back(), steps_[outer_], steps_.back()};
  }
  int64_t count() const { return count_; }
  int64_t rows() const { return first_.rows; }
  int64_t columns() const { return first_.columns; }
  Matrix<T> operator[](int64_t index) const {
    Matrix<T> found = first_;
    if (is_even_) {
      found.data += index * step_;
      return found;
    }
    for (size_t d = outer_; d-- > 0;) {
      found.data += index % sizes_[d] * steps_[d];
      index /= sizes_[d];
    }
    return found;
  }

 private:
  T* data_;
  size_t outer_;
  std::vector<int64_t> sizes_, steps_;
  bool is_even_ = true;  // matrices lie the same step apart
  int64_t count_ = 1, step_ = 0;
  Matrix<T> first_{data_, 1, 1, 1, 1};
};

extern template class Batch<float>;
extern template class Batch<double>;
extern template class Batch<complex<float>>;
extern template class Batch<complex<double>>;
extern template class Batch<const float>;
extern template class Batch<const double>;
extern template class Batch<const complex<float>>;
extern template class Batch<const complex<double>>;
extern template class Batch<int>;

/// x - x is 0 of finite numbers alone, complex ones too.
template <class T>
bool is_finite(const Matrix<const T>& matrix) {
  bool finite = true;
  for (int64_t j = 0; j < matrix.columns; ++j)
    for (int64_t i = 0; i < matrix.rows; ++i) finite &= matrix(i, j) - matrix(i, j) == T(0);
  return finite;
}
template <class T>
bool is_finite(const std::vector<T>& values) {
  const auto count = static_cast<int64_t>(values.size());
  return is_finite(Matrix<const T>{values.data(), count, 1, 1, count});
}

template <class T>
Matrix<T> transposed(const Matrix<T>& matrix) {
  return {matrix.data, matrix.columns, matrix.rows, matrix.column_step, matrix.row_step};
}

/// Copies elements between layouts.
template <class T>
void copy(const Matrix<const T>& from, const Matrix<T>& to);

template <class T>
Matrix<T> part(const Matrix<T>& whole, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  return {whole.data + row * whole.row_step + column * whole.column_step, rows, columns,
          whole.row_step, whole.column_step};
}

template <class T>
Matrix<const T> constant(const Matrix<T>& matrix) {
  return {matrix.data, matrix.rows, matrix.columns, matrix.row_step, matrix.column_step};
}

/// Of complex numbers, in place.
template <class T>
void conjugate(const Matrix<T>& matrix) {
  for (int64_t j = 0; j < matrix.columns; ++j)
    for (int64_t i = 0; i < matrix.rows; ++i) matrix(i, j).im = -matrix(i, j).im;
}

/// The tensor as if it had the dims in front of its last ones that the result has in front of its
/// matrices.
inline Tensor with_batch_of(const Tensor& tensor, const Tensor& result, size_t last) {
  const size_t outer = result.sizes().size() - 2, own = tensor.sizes().size() - last;
  Shape sizes, strides;
  for (size_t d = 0; d < outer + last; ++d) {
    const bool is_own = d + own >= outer;
    const size_t from = is_own ? d + own - outer : 0;
    sizes.push_back(d < outer ? result.sizes()[d] : tensor.sizes()[from]);
    const bool is_repeated = !is_own || (d < outer && tensor.sizes()[from] == 1);
    strides.push_back(is_repeated ? 0 : tensor.strides()[from]);
  }
  return make_view(tensor, sizes, strides, tensor.offset());
}

/// Memory of one thread that grows as it is asked to.
template <class T>
class Scratch {
 public:
  T* of(int64_t count) {
    if (count > size_) {
      memory_ = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(count));
      size_ = count;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<T[]> memory_;
  int64_t size_ = 0;
};

/// A matrix by columns that LAPACK reads and writes: in the place where its result is wanted, where
/// that is by columns, else in scratch from which `finish` copies.
template <class T>
class Columns {
 public:
  Columns(const Matrix<T>& wanted, Scratch<T>& scratch) : wanted_(wanted), used_(wanted) {
    if (!wanted.is_by_columns()) use(scratch, wanted.rows);
  }
  /// One that has more rows than its result, or none at all.
  Columns(const Matrix<T>& wanted, Scratch<T>& scratch, int64_t rows) : Columns(wanted, scratch) {
    if (rows > wanted.rows) use(scratch, rows);
  }
  void fill(const Matrix<const T>& from) const {
    if (from.data != used_.data) copy<T>(from, part(from.rows, from.columns));
  }
  void finish() const {
    if (used_.data != wanted_.data) copy<T>(constant(part(wanted_.rows, wanted_.columns)), wanted_);
  }
  T* data() const { return used_.data; }
  int64_t step() const { return std::max<int64_t>(used_.column_step, 1); }
  T& operator()(int64_t row, int64_t column) const { return used_(row, column); }
  Matrix<T> part(int64_t rows, int64_t columns) const {
    return {used_.data, rows, columns, used_.row_step, used_.column_step};
  }

 private:
  void use(Scratch<T>& scratch, int64_t rows) {
    used_ = {scratch.of(rows * wanted_.columns), rows, wanted_.columns, 1,
             std::max<int64_t>(rows, 1)};
  }
  Matrix<T> wanted_, used_;
};

/// Calls body(begin, end) over the matrices of a batch, on several threads where each has enough to
/// do. `work`: about how many multiplications one matrix takes.
template <class Body>
void over_matrices(int64_t count, int64_t work, const Body& body) {
  constexpr int64_t kWorth = 20'000;
  parallel_for(0, count, std::max<int64_t>(1, kWorth / std::max<int64_t>(work, 1)), body);
}
/// The same, where parts begin at whole numbers of `step` matrices.
template <class Body>
void over_matrices(int64_t count, int64_t work, int64_t step, const Body& body) {
  over_matrices((count + step - 1) / step, work * step, [&](int64_t begin, int64_t end) {
    body(begin * step, std::min(end * step, count));
  });
}

/// The same, where the body calls LAPACK: that uses threads of its own for large single matrices.
template <class Body>
void over_matrices_by_lapack(int64_t count, int64_t work, const Body& body) {
  constexpr int64_t kWorthThreads = int64_t{1} << 30;
  const OneThread one(count > 1 || work < kWorthThreads);
  over_matrices(count, work, body);
}

/// The size of the workspace that a query answered with.
template <class T>
int64_t asked_size(const T& answer) {
  if constexpr (kIsComplex<T>) {
    return std::max<int64_t>(1, static_cast<int64_t>(answer.re));
  } else {
    return std::max<int64_t>(1, static_cast<int64_t>(answer));
  }
}

/// Calls function.template operator()<T>() with the type of elements of matrices.
template <class Function>
void visit_elements(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::float32:
      return function.template operator()<float>();
    case DType::float64:
      return function.template operator()<double>();
    case DType::complex64:
      return function.template operator()<complex<float>>();
    case DType::complex128:
      return function.template operator()<complex<double>>();
    default:
      fail(ErrorKind::runtime, "linalg: matrices of ", dtype, " have no factors");
  }
}

/// The same, for a function that calls LAPACK.
template <class Function>
void visit_elements_of_lapack(DType dtype, Function&& function) {
  visit_elements(dtype, [&]<class T>() {
    find_routines<T>();
    function.template operator()<T>();
  });
}

/// The first matrix of which `info` is not 0; -1 where all went well.
inline int64_t first_failure(const Tensor& info) {
  const Batch<int> numbers(info, 0);
  for (int64_t i = 0; i < numbers.count(); ++i) {
    if (*numbers[i].data != 0) return i;
  }
  return -1;
}

/// "(batch element 3) " where there is a batch.
inline std::string which(const Tensor& info, int64_t index) {
  return info.dim() == 0 ? "" : concatenate("(batch element ", index, ") ");
}

}  // namespace flambeau::cpu::lapack
