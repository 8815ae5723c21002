#pragma once

#include <cstdint>
#include <vector>

#include "core/types/complex.h"

namespace flambeau::cpu::lapack {

/// Eigenvalues and right eigenvectors of general matrices of few rows, without LAPACK's calls:
/// balanced (B. N. Parlett and C. Reinsch, 1969), by reflections of Hessenberg form, by QR steps
/// triangular but for blocks of conjugate pairs (J. G. F. Francis, The QR Transformation, 1961).
/// T: double or complex<double>.
template <class T>
class SmallEigen {
 public:
  using Complex = complex<double>;

  SmallEigen(int64_t n, bool with_vectors);
  /// Where the matrix is written, by rows, before `find`, which destroys it.
  T* matrix() { return h_.data(); }
  /// Whether steps were enough.
  bool find();
  const Complex* values() const { return values_.data(); }
  /// Of norm 1, by columns: of each value.
  const Complex* vectors() const { return vectors_.data(); }

 private:
  T& h(int64_t i, int64_t j) { return h_[static_cast<size_t>(i * n_ + j)]; }
  T& q(int64_t i, int64_t j) { return q_[static_cast<size_t>(j * n_ + i)]; }
  void balance();
  void exchange(int64_t one, int64_t other);
  void reduce();
  bool make_triangular();
  int64_t first_coupled(int64_t last);
  void take_values();
  void split_pair(int64_t last);
  void step(int64_t first, int64_t last, int count);
  void find_vectors();
  template <class N>
  void find_vector(int64_t last, N value, N* x);
  void write_vector(int64_t column, int64_t last, const Complex* x);

  int64_t n_;
  bool with_vectors_;
  double size_ = 0;  // of the matrix
  std::vector<T> h_, q_;
  std::vector<double> scales_;
  std::vector<int64_t> order_;
  std::vector<Complex> values_, vectors_;
};

}  // namespace flambeau::cpu::lapack
