#include "cpu/blocks.h"
#include "cpu/walk.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

/// Checks that `index` fits into `tensor` in every dim but `dim`.
void check_fits(const Tensor& index, const Tensor& tensor, int64_t dim, const char* op) {
  if (index.dim() == 0 || tensor.dim() == 0) return;
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

/// out[i] = from[i][place[i]] for places below `size`, where `stride` leads from one to the next.
template <class T>
struct Choices {
  T* out;
  const int64_t* place;
  const T* from;
  int64_t out_step, place_step, from_step, stride, size;

  /// False where a place is outside.
  bool run(int64_t count) const {
    const bool plain = out_step == 1 && place_step == 1 && from_step == 0 && stride == 1;
    return plain ? run_with<true>(count) : run_with<false>(count);
  }

 private:
  template <bool plain>
  bool run_with(int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = plain ? place[i] : place[i * place_step];
      if (FLAMBEAU_UNLIKELY(static_cast<uint64_t>(at) >= static_cast<uint64_t>(size))) return false;
      (plain ? out[i] : out[i * out_step]) = plain ? from[at] : from[i * from_step + at * stride];
    }
    return true;
  }
};

/// result[i][j] = self[index[i][j]][j] for places of `index`; result has strides of its own.
void gather_into(const Tensor& result, const Tensor& self, int64_t given_dim, const Tensor& index,
                 const char* op) {
  const int64_t dim = wrap_dim(given_dim, self.dim(), op);
  check_fits(index, self, dim, op);
  if (index.numel() == 0) return;
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  const int64_t stride = self.dim() == 0 ? 0 : self.stride(dim);
  const Shape from_strides = strides_without(self, index.dim(), dim);
  const Rows<3> rows(index.sizes(),
                     {IntList(result.strides()), IntList(index.strides()), IntList(from_strides)});
  const int64_t* const indices = index.data<int64_t>();
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const to = result.data<T>();
    const T* const from = self.data<T>();
    rows.parallel(
        [&](const std::array<int64_t, 3>& at) {
          const Choices<T> row{to + at[0],   indices + at[1], from + at[2], rows.step(0),
                               rows.step(1), rows.step(2),    stride,       size};
          if (FLAMBEAU_LIKELY(row.run(rows.length()))) return;
          for (int64_t i = 0; i < rows.length(); ++i)
            check_index(row.place[i * row.place_step], size, dim, op);
        },
        2);
  });
}

}  // namespace

void gather(const Tensor& result, const Tensor& self, int64_t dim, const Tensor& index) {
  gather_into(result, self, dim, index, "gather");
}

void scatter_source_grad(const Tensor& result, const Tensor& grad_output, int64_t dim,
                         const Tensor& index, IntList size) {
  if (equal(index.sizes(), size)) return gather_into(result, grad_output, dim, index, "scatter");
  fill_data(result, 0);
  if (index.numel() == 0) return;
  gather_into(make_view(result, index.sizes(), result.strides(), result.offset()), grad_output, dim,
              index, "scatter");
}

}  // namespace flambeau::cpu
