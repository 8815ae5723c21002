#include "core/tensor/views.h"
#include "kernels/view_grad_any.h"

/// Zeros with a gradient put where a view looked.
namespace flambeau::any {
namespace {

void put(const Tensor& result, const View& place, const Tensor& grad, const char* op) {
  check(place.sizes == grad.sizes(), ErrorKind::runtime, op, "(): a gradient of shape ",
        grad.sizes(), " for a view of shape ", place.sizes);
  fill_data(result, 0);
  copy_data(make_view(result, place), grad);
}

}  // namespace

void select_grad(const Tensor& result, const Tensor& grad, IntList, Dim dim, int64_t index) {
  put(result, views::select(result, dim, index), grad, "select");
}

void slice_grad(const Tensor& result, const Tensor& grad, IntList, Dim dim,
                std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  put(result, views::slice(result, dim, start, end, step), grad, "slice");
}

void diagonal_grad(const Tensor& result, const Tensor& grad, IntList, int64_t offset, Dim dim1,
                   Dim dim2) {
  put(result, views::diagonal(result, offset, dim1, dim2), grad, "diagonal");
}

}  // namespace flambeau::any
