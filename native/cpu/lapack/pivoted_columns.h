#pragma once

#include "cpu/lapack/blocks.h"
#include "cpu/lapack/small_factors.h"

namespace flambeau::cpu::lapack {

/// QR factors of a matrix whose columns are exchanged, each time for what is left the most of. Of
/// what each column does to the rest, half is put off until several are done, and is then a product
/// (G. Quintana-Orti, X. Sun and C. Bischof, A BLAS-3 Version of the QR Factorization with Column
/// Pivoting, 1998).
template <class T>
class PivotedPanels {
 public:
  /// Norms are looked for here, and places filled in.
  explicit PivotedPanels(const PivotedColumns<T>& columns);

  /// Factors one column or more after those that are done. Then R is known down to their rows.
  /// Returns how many are done in all.
  int64_t advance();
  /// What follows them is brought up to date; to be called before `advance` is called again.
  void settle();

 private:
  static constexpr int64_t kColumns = 32;

  void exchange_with_greatest(int64_t k, int64_t j);
  void bring_column(int64_t k, int64_t j);
  void find_shares(int64_t k, int64_t j);
  bool take_row(int64_t k, int64_t j);
  Matrix<T> a(int64_t row, int64_t column, int64_t rows, int64_t columns) const {
    return part(Matrix<T>{all_.a, all_.rows, all_.columns, 1, all_.step}, row, column, rows,
                columns);
  }
  /// Of columns from `first` on, what the panel's reflections take from each.
  Matrix<T> shares(int64_t first, int64_t count) const {
    return part(shares_.all(), first, 0, all_.columns - first, count);
  }

  PivotedColumns<T> all_;
  int64_t begin_ = 0, done_ = 0;
  Owned<T> shares_;  ///< F: the rest, up to date, is A - V F^H
  Owned<T> line_, sums_;
};

}  // namespace flambeau::cpu::lapack
