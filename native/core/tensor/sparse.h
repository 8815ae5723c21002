#pragma once

#include "core/tensor/tensor.h"

/// Sparse tensors, which list places and values. Such a tensor is a TensorImpl with sizes and a
/// dtype whose storage holds, in place of bytes, a tensor of indices and one of values. The
/// storage's device is Backend::sparse_coo, whatever the layout, for which there is no memory and
/// no kernel: code that knows nothing of sparse tensors meets an error, never an address.
namespace flambeau {

/// How a sparse tensor is shown and saved. Those of compressed rows or columns list their places as
/// any other does, grouped by row or by column in ascending order.
enum class SparseLayout : uint8_t { coo = 0, csr = 1, csc = 2 };

/// `values[i]`, a number or a block of dense dims, stands at `indices[:, i]`; what stands at the
/// same place more than once is added.
struct SparseParts {
  Tensor indices;          ///< int64, [sparse dims, n]
  Tensor values;           ///< [n, *dense dims]
  bool coalesced = false;  ///< no place occurs twice, and they are in row-major order; of csc, in
                           ///< column-major order
  SparseLayout layout = SparseLayout::coo;
};

inline bool is_sparse(const Tensor& tensor) {
  return tensor.device().backend == Backend::sparse_coo;
}
/// Where the elements are: of a sparse tensor, the device of its values.
FLAMBEAU_API Device data_device(const Tensor& tensor);

/// "sparse_coo" and so on.
FLAMBEAU_API const char* layout_name(SparseLayout layout);
/// "strided", or that of a sparse tensor.
FLAMBEAU_API const char* layout_name(const Tensor& tensor);

/// A tensor of shape `sizes` of these parts, which it shares without their history. Error(runtime)
/// that names `op` where dtypes, dims, lengths or devices do not agree. The caller knows that the
/// indices lie inside `sizes`; who reads them checks it again, for their memory is shared.
FLAMBEAU_API Tensor make_sparse(const SparseParts& parts, IntList sizes, const char* op);
/// The parts of a sparse tensor; Error(type) that names `op` for another one.
FLAMBEAU_API SparseParts sparse_parts(const Tensor& tensor, const char* op);
/// Gives a sparse tensor, and all that share its storage, other parts of the same dtype and sizes.
FLAMBEAU_API void replace_sparse_parts(const Tensor& tensor, const SparseParts& parts,
                                       const char* op);
/// The same elements in memory of their own; no autograd.
FLAMBEAU_API Tensor copy_sparse(const Tensor& tensor, const char* op);

}  // namespace flambeau
