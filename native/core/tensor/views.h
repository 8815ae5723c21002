#pragma once

#include <optional>
#include <vector>

#include "core/tensor/tensor.h"

namespace flambeau {

/// Where the elements of a view lie in its base's storage; strides and offset in elements of the
/// view's dtype.
struct View {
  Shape sizes, strides;
  int64_t offset = 0;
};

/// A tensor of that geometry over the storage of `base` (no autograd). `dtype`: when it differs
/// from the base's (real, view_as_complex, view_dtype).
FLAMBEAU_API Tensor make_view(const Tensor& base, const View& view,
                              std::optional<DType> dtype = {});

/// The geometry functions named by declarations. Errors name the operator and the sizes seen.
namespace views {

/// One size may be -1. Error(runtime) when the strides do not allow the shape without a copy.
FLAMBEAU_API View view(const Tensor& self, IntList size);
/// The same, none when a copy would be needed (reshape). Still an error when the sizes do not fit.
FLAMBEAU_API std::optional<View> try_view(const Tensor& self, IntList size,
                                          const char* op = "reshape");
/// Replaces a -1 in `size` and checks the number of elements.
FLAMBEAU_API Shape infer_size(IntList size, int64_t numel, const char* op);
FLAMBEAU_API View flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1);
FLAMBEAU_API View unflatten(const Tensor& self, int64_t dim, IntList sizes);

FLAMBEAU_API View transpose(const Tensor& self, int64_t dim0, int64_t dim1);
FLAMBEAU_API View permute(const Tensor& self, IntList dims);
/// Swaps the dims of a matrix; a tensor of rank 0 or 1 stays as it is.
FLAMBEAU_API View t(const Tensor& self);
FLAMBEAU_API View matrix_transpose(const Tensor& self);  // mT: the last two dims, rank >= 2
FLAMBEAU_API View reversed(const Tensor& self);          // T: all dims
FLAMBEAU_API View movedim(const Tensor& self, IntList source, IntList destination);
inline View movedim(const Tensor& self, int64_t source, int64_t destination) {
  return movedim(self, IntList(&source, 1), IntList(&destination, 1));
}

FLAMBEAU_API View unsqueeze(const Tensor& self, int64_t dim);
FLAMBEAU_API View squeeze(const Tensor& self);  // every dim of size 1
/// Drops the dim (those dims) where the size is 1.
FLAMBEAU_API View squeeze_dim(const Tensor& self, int64_t dim);
FLAMBEAU_API View squeeze_dims(const Tensor& self, IntList dims);
inline View squeeze(const Tensor& self, int64_t dim) { return squeeze_dim(self, dim); }
inline View squeeze(const Tensor& self, IntList dims) { return squeeze_dims(self, dims); }
/// -1 keeps a size; new leading dims and dims of size 1 get stride 0.
FLAMBEAU_API View expand(const Tensor& self, IntList size);

/// What reducing `size` over `dim` left behind, spread over `size` again: stride 0 along reduced
/// dims.
FLAMBEAU_API View expand_reduced(const Tensor& self, IntList size, std::optional<IntList> dim,
                                 bool keepdim);

FLAMBEAU_API View select(const Tensor& self, int64_t dim, int64_t index);
/// Python's slicing with clamping; step > 0.
FLAMBEAU_API View slice(const Tensor& self, int64_t dim, std::optional<int64_t> start,
                        std::optional<int64_t> end, int64_t step = 1);
/// Not clamped: Error(runtime) when [start, start + length) leaves the dim.
FLAMBEAU_API View narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
/// The diagonal becomes the last dim.
FLAMBEAU_API View diagonal(const Tensor& self, int64_t offset = 0, int64_t dim1 = 0,
                           int64_t dim2 = 1);
/// Offset in the storage; none: that of self. Checked against the storage by make_view.
FLAMBEAU_API View as_strided(const Tensor& self, IntList size, IntList stride,
                             std::optional<int64_t> storage_offset = {});
/// Windows of `size` every `step` elements; the window becomes the last dim.
FLAMBEAU_API View unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);

/// Geometry in elements of another dtype: see result dtypes beside each.
FLAMBEAU_API View real(const Tensor& self);             // real_dtype(self.dtype)
FLAMBEAU_API View imag(const Tensor& self);             // real_dtype(self.dtype)
FLAMBEAU_API View view_as_real(const Tensor& self);     // real_dtype(self.dtype), last dim 2
FLAMBEAU_API View view_as_complex(const Tensor& self);  // complex_dtype(self.dtype)
FLAMBEAU_API View view_dtype(const Tensor& self, DType dtype);
inline View alias(const Tensor& self) { return {self.sizes(), self.strides(), self.offset()}; }

/// Several views at once.
FLAMBEAU_API std::vector<View> split(const Tensor& self, int64_t split_size, int64_t dim = 0);
FLAMBEAU_API std::vector<View> split_with_sizes(const Tensor& self, IntList split_sizes,
                                                int64_t dim = 0);
FLAMBEAU_API std::vector<View> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0);
FLAMBEAU_API std::vector<View> unbind(const Tensor& self, int64_t dim = 0);
/// Blocks of these heights and widths, each below and to the right of the one before.
FLAMBEAU_API std::vector<View> diagonal_blocks(const Tensor& self, IntList heights, IntList widths);

}  // namespace views
}  // namespace flambeau
