#include <vector>

#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "kernels/reduction.h"

namespace flambeau::cpu {
namespace {

/// Calls body<T>(row of self, row of grad or null, row of result, length) for rows along `dim`,
/// and puts the rows of results in their places.
template <class Body>
void for_rows(const Tensor& result, const Tensor& self, const Tensor* grad, int64_t given_dim,
              const Body& body) {
  if (self.numel() == 0) return;
  const int64_t dim = front_dim(given_dim, self.dim());
  const Tensor rows = rows_along(self, dim);
  const Tensor grads = grad ? rows_along(*grad, dim) : rows;
  const Tensor out = flambeau::empty(rows.sizes(), self.dtype(), self.device());
  const int64_t length = self.dim() == 0 ? 1 : self.size(dim), count = self.numel() / length;
  visit_dtype(self.dtype(), [&]<class T>() {
    parallel_for(0, count, std::max<int64_t>(1, kGrain / 4 / length),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     body(rows.data<T>() + row * length, grads.data<T>() + row * length,
                          out.data<T>() + row * length, length);
                   }
                 });
  });
  copy_data(view_with_dim_last(result, dim), out);
}

/// A product of some elements, and the sum over them of grad times the product of the others.
template <class T>
struct Partial {
  T product, sum;
  Partial then(const Partial& next) const {
    return {times(product, next.product), plus(times(sum, next.product), times(product, next.sum))};
  }
};

}  // namespace

void product_of_others(const Tensor& result, const Tensor& self, int64_t dim) {
  for_rows(result, self, nullptr, dim, []<class T>(const T* x, const T*, T* out, int64_t length) {
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

void product_of_others_grad(const Tensor& result, const Tensor& grad_output, const Tensor& self,
                            int64_t dim) {
  for_rows(result, self, &grad_output, dim,
           []<class T>(const T* x, const T* grad, T* out, int64_t length) {
             std::vector<Partial<T>> before(static_cast<size_t>(length));
             Partial<T> folded{T(1), T(0)};
             for (int64_t i = 0; i < length; ++i) {
               before[static_cast<size_t>(i)] = folded;
               folded = folded.then({x[i], grad[i]});
             }
             folded = {T(1), T(0)};
             for (int64_t i = length; i-- > 0;) {
               out[i] = before[static_cast<size_t>(i)].then(folded).sum;
               folded = Partial<T>{x[i], grad[i]}.then(folded);
             }
           });
}

}  // namespace flambeau::cpu
