#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "kernels/reduction.h"

namespace flambeau::cpu {
namespace {

/// Calls body<T>(row of self, row of result, length) for rows along `dim`, and puts the rows of
/// results in their places.
template <class Body>
void for_rows(const Tensor& result, const Tensor& self, int64_t given_dim, const Body& body) {
  if (self.numel() == 0) return;
  const int64_t dim = front_dim(given_dim, self.dim());
  const Tensor rows = rows_along(self, dim);
  const Tensor out = flambeau::empty(rows.sizes(), self.dtype(), self.device());
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim), count = self.numel() / length;
  visit_dtype(self.dtype(), [&]<class T>() {
    parallel_for(0, count, std::max<int64_t>(1, kGrain / 4 / length),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     body(rows.data<T>() + row * length, out.data<T>() + row * length, length);
                   }
                 });
  });
  copy_data(view_with_dim_last(result, dim), out);
}

}  // namespace

void product_of_others(const Tensor& result, const Tensor& self, int64_t dim) {
  for_rows(result, self, dim, []<class T>(const T* x, T* out, int64_t length) {
    T product = T(1);
    for (int64_t i = 0; i < length; ++i) {
      out[i] = product;
      product = times(product, x[i]);
    }
    product = T(1);
    for (int64_t i = length; i-- > 0;) {
      out[i] = times(out[i], product);
      product = times(product, x[i]);
    }
  });
}

}  // namespace flambeau::cpu
