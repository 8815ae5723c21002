#include "core/tensor/views.h"
#include "kernels/shape_any.h"

namespace flambeau::any {
namespace {

/// Copies tensors to their places along a dim of the result, which they may lack (stack).
void join(const Tensor& result, TensorList tensors, Dim dim, bool stacked) {
  int64_t position = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() == 1 && tensor.numel() == 0 && !stacked) continue;
    const int64_t size = stacked ? 1 : tensor.size(dim);
    if (tensor.numel() != 0)
      copy_data(make_view(result, stacked ? views::select(result, dim, position)
                                          : views::narrow(result, dim, position, size)),
                tensor);
    position += size;
  }
}

}  // namespace

void cat(const Tensor& result, TensorList tensors, Dim dim) { join(result, tensors, dim, false); }

void stack(const Tensor& result, TensorList tensors, Dim dim) { join(result, tensors, dim, true); }

}  // namespace flambeau::any
