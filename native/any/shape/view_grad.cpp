#include "core/views.h"
#include "kernels/view_grad_any.h"

/// Zeros with a gradient put where a view looked.
namespace flambeau::any {
namespace {

void put(const Tensor& result, const View& place, const Tensor& grad) {
  fill_data(result, 0);
  copy_data(make_view(result, place), grad);
}

}  // namespace

void select_grad(const Tensor& result, const Tensor& grad, IntList, int64_t dim, int64_t index) {
  put(result, views::select(result, dim, index), grad);
}

void slice_grad(const Tensor& result, const Tensor& grad, IntList, int64_t dim,
                std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  put(result, views::slice(result, dim, start, end, step), grad);
}

void diagonal_grad(const Tensor& result, const Tensor& grad, IntList, int64_t offset, int64_t dim1,
                   int64_t dim2) {
  put(result, views::diagonal(result, offset, dim1, dim2), grad);
}

}  // namespace flambeau::any
