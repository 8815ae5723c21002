#include "core/tensor/views.h"
#include "kernels/view_scatter_any.h"

/// Copies of a tensor in which what a view looks at is replaced.
namespace flambeau::any {
namespace {

void replace(const Tensor& result, const View& place, const Tensor& self, const Tensor& src,
             const char* op) {
  check(place.sizes == src.sizes(), ErrorKind::runtime, op, "(): src of shape ", src.sizes(),
        " must have the shape of what it replaces, ", place.sizes);
  copy_data(result, self);
  copy_data(make_view(result, place), src);
}

}  // namespace

void select_replaced(const Tensor& result, const Tensor& self, const Tensor& src, Dim dim,
                     int64_t index) {
  replace(result, views::select(result, dim, index), self, src, "select_scatter");
}

void slice_replaced(const Tensor& result, const Tensor& self, const Tensor& src, Dim dim,
                    std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  replace(result, views::slice(result, dim, start, end, step), self, src, "slice_scatter");
}

void diagonal_replaced(const Tensor& result, const Tensor& self, const Tensor& src, int64_t offset,
                       Dim dim1, Dim dim2) {
  replace(result, views::diagonal(result, offset, dim1, dim2), self, src, "diagonal_scatter");
}

}  // namespace flambeau::any
