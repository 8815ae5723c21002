#include "cpu/lapack/matrices.h"

#include <type_traits>

#include "cpu/transpose.h"

namespace flambeau::cpu::lapack {
namespace {

/// Dense rows become dense columns: squares of a cache line, whose rows and columns may lie a power
/// of two apart and share places in the cache, on several threads where there are many.
template <class T>
void copy_turned(const Matrix<const T>& from, const Matrix<T>& to) {
  // What is moved is bits.
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int64_t kSide = sizeof(T) <= 8 ? kBlock<Word> : 1;
  constexpr int64_t kSquare = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t bands = (to.columns + kSquare - 1) / kSquare;
  const int64_t grain = std::max<int64_t>(1, kGrain / (kSquare * to.rows));
  parallel_for(0, bands, grain, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin * kSquare; j < std::min(end * kSquare, to.columns); j += kSquare) {
      for (int64_t i = 0; i < to.rows; i += kSquare) {
        const int64_t rows = std::min(kSquare, to.rows - i);
        const int64_t columns = std::min(kSquare, to.columns - j);
        if (kSide == 1 || rows < kSquare || columns < kSquare) {
          for (int64_t c = j; c < j + columns; ++c)
            for (int64_t r = i; r < i + rows; ++r) to(r, c) = from(r, c);
          continue;
        }
        for (int64_t c = j; c < j + kSquare; c += kSide)
          for (int64_t r = i; r < i + kSquare; r += kSide)
            transpose_block(reinterpret_cast<Word*>(&to(r, c)), to.column_step,
                            reinterpret_cast<const Word*>(&from(r, c)), from.row_step);
      }
    }
  });
}

/// In the order of rows of `to`.
template <class T>
void copy_elements(const Matrix<const T>& from, const Matrix<T>& to) {
  for (int64_t i = 0; i < to.rows; ++i)
    for (int64_t j = 0; j < to.columns; ++j) to(i, j) = from(i, j);
}

}  // namespace

template <class T>
void copy(const Matrix<const T>& from, const Matrix<T>& to) {
  if (to.rows == 0 || to.columns == 0) return;
  if (from.row_step == 1 && from.column_step != 1) return copy<T>(transposed(from), transposed(to));
  if (from.column_step == 1 && to.column_step == 1) {
    for (int64_t i = 0; i < to.rows; ++i) std::copy_n(&from(i, 0), to.columns, &to(i, 0));
  } else if (from.column_step == 1 && to.row_step == 1) {
    copy_turned(from, to);
  } else if (to.row_step == 1 && to.column_step != 1) {
    copy_elements(transposed(from), transposed(to));
  } else {
    copy_elements(from, to);
  }
}

template void copy(const Matrix<const float>&, const Matrix<float>&);
template void copy(const Matrix<const double>&, const Matrix<double>&);
template void copy(const Matrix<const complex<float>>&, const Matrix<complex<float>>&);
template void copy(const Matrix<const complex<double>>&, const Matrix<complex<double>>&);

template class Batch<float>;
template class Batch<double>;
template class Batch<complex<float>>;
template class Batch<complex<double>>;
template class Batch<const float>;
template class Batch<const double>;
template class Batch<const complex<float>>;
template class Batch<const complex<double>>;
template class Batch<int>;

}  // namespace flambeau::cpu::lapack
