#pragma once

#include <optional>
#include <type_traits>

#include "core/tensor/tensor.h"
#include "cpu/linalg/gemm_kernel.h"

/// Products of matrices of a few numbers, many in a row: what a call of gemm() decides and cuts
/// takes longer than they do.
namespace flambeau::cpu {

/// The matrices of a batch, so many elements apart.
template <class T>
struct MatrixStack {
  MatrixView<T> first;
  int64_t step;
  MatrixStack from(int64_t index) const {
    return {{first.data + index * step, first.row, first.column}, step};
  }
};

/// c = a @ b for `count` matrices: a of m x k, b of k x n, of any strides; c is dense.
template <class T>
struct SmallProducts {
  int64_t count, m, n, k;
  MatrixStack<T> a, b;
  T* c;
};

/// Compiled once per instruction set (small_products.simd.cpp).
template <class T>
struct SmallProductKernels {
  void (*multiply)(const SmallProducts<T>& call);
  int64_t most_columns;        ///< of b
  int64_t most_dense_columns;  ///< of a b whose rows are not dense: others are packed faster
};

/// Rows of each factor, and columns, at most.
inline constexpr int64_t kSmallSide = 16;

FLAMBEAU_IN_EACH_SET(template <class T> const SmallProductKernels<T>& small_product_kernels();)

/// The kernels for the processor at hand.
template <class T>
const SmallProductKernels<T>& small_product_kernels() {
  static const SmallProductKernels<T>& best = FLAMBEAU_PICK(small_product_kernels<T>)();
  return best;
}

template <class T>
inline constexpr bool kHasSmallProducts =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, complex<float>> ||
    std::is_same_v<T, complex<double>>;

/// Columns of one number are rows of products of what is transposed.
template <class T>
SmallProducts<T> turned_where_columns(const SmallProducts<T>& call) {
  if (call.n != 1) return call;
  return {call.count,
          1,
          call.m,
          call.k,
          {call.b.first.transposed(), call.b.step},
          {call.a.first.transposed(), call.a.step},
          call.c};
}

/// Whether that is done here; else nothing is.
template <class T>
bool multiply_small([[maybe_unused]] const SmallProducts<T>& given) {
  if constexpr (kHasSmallProducts<T>) {
    const SmallProducts<T> call = turned_where_columns(given);
    const SmallProductKernels<T>& kernels = small_product_kernels<T>();
    const bool are_rows = call.b.first.column == 1;
    const int64_t most = are_rows ? kernels.most_columns : kernels.most_dense_columns;
    if (call.m > kSmallSide || call.k > kSmallSide || call.n > most) return false;
    kernels.multiply(call);
    return true;
  } else {
    return false;
  }
}

}  // namespace flambeau::cpu
