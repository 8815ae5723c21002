#include "core/tensor/views.h"
#include "cpu/shape/add_into.h"
#include "kernels/view_grad.h"

/// Zeros with a gradient added where a view looked.
namespace flambeau::cpu {

void unfold_grad(const Tensor& result, const Tensor& grad, IntList, Dim dimension, int64_t window,
                 int64_t step) {
  fill_data(result, 0);
  add_into(make_view(result, views::unfold(result, dimension, window, step)), grad, "unfold");
}

}  // namespace flambeau::cpu
