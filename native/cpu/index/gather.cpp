#include "kernels/gather.h"
#include "cpu/blocks.h"
#include "cpu/walk.h"

namespace flambeau::cpu {
namespace {

/// Checks that `index` has the dims of `tensor` and fits into it in all but `dim`. A 0-d index, and
/// a 0-d tensor, stand for one of one element.
void check_fits(const Tensor& index, const Tensor& tensor, int64_t dim, const char* op) {
  if (tensor.dim() == 0 || (index.dim() == 0 && tensor.dim() == 1)) return;
  check(index.dim() == tensor.dim(), ErrorKind::runtime, op, "(): index of shape ", index.sizes(),
        " has not as many dims as shape ", tensor.sizes());
  for (int64_t d = 0; d < index.dim(); ++d) {
    check(d == dim || index.size(d) <= tensor.size(d), ErrorKind::runtime, op,
          "(): index of shape ", index.sizes(), " reaches beyond shape ", tensor.sizes(),
          " in dim ", d);
  }
}

/// The tensor's strides for walking an index of rank `rank`: 0 along `dim`.
Shape strides_without(const Tensor& tensor, int64_t rank, int64_t dim) {
  if (tensor.dim() == 0 || rank == 0) return Shape(static_cast<size_t>(rank), 0);
  Shape strides = tensor.strides();
  strides[static_cast<size_t>(dim)] = 0;
  return strides;
}

/// result[i][j] = self[index[i][j]][j] for places of `index`; result has strides of its own.
void gather_into(const Tensor& result, const Tensor& self, Dim dim, const Tensor& index,
                 const char* op) {
  if (index.numel() == 0) return;
  check_fits(index, self, dim, op);
  const Tensor wide = cast_data(index, DType::int64);
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  const int64_t stride = self.dim() == 0 ? 0 : self.stride(dim);
  const Shape from_strides = strides_without(self, index.dim(), dim);
  const Rows<3> rows(index.sizes(),
                     {IntList(result.strides()), IntList(wide.strides()), IntList(from_strides)});
  const int64_t* const indices = wide.data<int64_t>();
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const to = result.data<T>();
    const T* const from = self.data<T>();
    rows.parallel(
        [&](const std::array<int64_t, 3>& at) {
          T* const out = to + at[0];
          const T* const source = from + at[2];
          const int64_t* const place = indices + at[1];
          const int64_t length = rows.length(), step = rows.step(1);
          const int64_t out_step = rows.step(0), from_step = rows.step(2);
          if (out_step == 1 && step == 1 && from_step == 0 && stride == 1) {
            return for_indices(place, 1, length, size, dim, op,
                               [=](int64_t i, int64_t index) { out[i] = source[index]; });
          }
          for_indices(place, step, length, size, dim, op, [=](int64_t i, int64_t index) {
            out[i * out_step] = source[i * from_step + index * stride];
          });
        },
        2);
  });
}

}  // namespace

void gather(const Tensor& result, const Tensor& self, Dim dim, const Tensor& index) {
  gather_into(result, self, dim, index, "gather");
}

void scatter_source_grad(const Tensor& result, const Tensor& grad_output, Dim dim,
                         const Tensor& index, IntList size) {
  if (equal(index.sizes(), size)) return gather_into(result, grad_output, dim, index, "scatter");
  fill_data(result, 0);
  if (index.numel() == 0) return;
  // A 0-d index stands for one of one element.
  const Shape strides =
      index.dim() == result.dim() ? result.strides() : Shape(static_cast<size_t>(index.dim()), 1);
  gather_into(make_view(result, index.sizes(), strides, result.offset()), grad_output, dim, index,
              "scatter");
}

}  // namespace flambeau::cpu
