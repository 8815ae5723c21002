#pragma once

#include "core/backends/instruction_set.h"
#include "core/types/complex.h"

namespace flambeau::cpu {

/// Columns that are factored by reflections, and what is known of them: where each stood, and the
/// norms of what is left of them below the rows that are done, now and when they were last added
/// up.
template <class T>
struct PivotedColumns {
  int64_t rows, columns;
  T* a;
  int64_t step;
  T* tau;
  int64_t* places;
  double *norms, *exact;
};

/// Columns that become Q c or Q^H c. The vectors of the `count` reflections that Q is the product
/// of stand below the diagonal of `vectors`, which lies by columns, too.
template <class T>
struct ReflectedColumns {
  int64_t rows, columns;
  T* c;
  int64_t step;
  int64_t count;
  const T* vectors;
  int64_t vectors_step;
  const T* tau;
  bool adjoint;
};

/// Factors of few columns: what large ones are cut into. Matrices lie by columns. Compiled once per
/// instruction set (small_factors.simd.cpp).
template <class T>
struct SmallFactors {
  /// What LAPACK's getrf does, column by column: `a` lies by columns, `step` elements apart.
  /// Returns the number of the first pivot that is 0, from 1; 0: there is none.
  int (*factor)(int64_t rows, int64_t columns, T* a, int64_t step, int* swaps);
  /// What LAPACK's geqr2 does: R, and below it the vectors of as many reflections as tau has
  /// numbers, the smaller of rows and columns; at most kPanel columns.
  void (*reflect)(int64_t rows, int64_t columns, T* a, int64_t step, T* tau);
  /// The same for column k alone, which the one with the greatest norm is exchanged with. What k =
  /// 0 is called with is filled in.
  void (*reflect_greatest)(const PivotedColumns<T>& columns, int64_t k);
  /// What LAPACK's larfg does: returns the factor of a reflection that leaves of x its first
  /// element alone, and puts the rest of the reflection's vector behind that.
  T (*make_reflection)(int64_t count, T* x);
  /// The products of the adjoint of `a`, which lies by columns, and x.
  void (*inner_products)(int64_t rows, int64_t columns, const T* a, int64_t step, const T* x,
                         T* products);
  /// The Euclidean norm.
  double (*norm)(int64_t count, const T* x);
  /// What LAPACK's orm2r does from the left: the columns of c, few, are reflected one after the
  /// other. No reflection has fewer rows than there are reflections.
  void (*apply)(const ReflectedColumns<T>& c);
};

/// Columns that are factored one by one.
inline constexpr int64_t kPanel = 16;

FLAMBEAU_IN_EACH_SET(template <class T> const SmallFactors<T>& small_factors();)

/// The kernels for the processor at hand.
template <class T>
const SmallFactors<T>& small_factors() {
  static const SmallFactors<T>& best = FLAMBEAU_PICK(small_factors<T>)();
  return best;
}

}  // namespace flambeau::cpu
