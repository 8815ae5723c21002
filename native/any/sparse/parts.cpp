#include "core/tensor/alias.h"
#include "core/tensor/sparse.h"

#include "kernels/sparse_parts_any.h"

namespace flambeau::any {
namespace {

Tensor same_storage(const Tensor& tensor) { return alias_of(tensor, tensor.storage()); }

}  // namespace

Tensor sparse_make(const Tensor& indices, const Tensor& values, IntList size, bool coalesced) {
  return make_sparse({indices, values, coalesced}, size, "sparse_coo_tensor()");
}

Tensor sparse_with(const Tensor& self, const Tensor& values) {
  const SparseParts parts = sparse_parts(self, "sparse_like()");
  return make_sparse({parts.indices, values, parts.coalesced, parts.layout}, self.sizes(),
                     "sparse_like()");
}

Tensor sparse_marked(const Tensor& self, int64_t layout, bool coalesced) {
  const SparseParts parts = sparse_parts(self, "sparse_marked()");
  return make_sparse({parts.indices, parts.values, coalesced, static_cast<SparseLayout>(layout)},
                     self.sizes(), "sparse_marked()");
}

Tensor sparse_flag(const Tensor& self) {
  const SparseParts parts = sparse_parts(self, "is_coalesced()");
  const Tensor result = flambeau::empty({}, DType::bool_, parts.values.device());
  fill_data(result, parts.coalesced);
  return result;
}

Tensor sparse_layout(const Tensor& self) {
  const SparseParts parts = sparse_parts(self, "layout");
  const Tensor result = flambeau::empty({}, DType::int64, parts.values.device());
  fill_data(result, static_cast<int64_t>(parts.layout));
  return result;
}

Tensor sparse_indices(const Tensor& self) {
  return same_storage(sparse_parts(self, "indices()").indices);
}

Tensor sparse_values(const Tensor& self) {
  return same_storage(sparse_parts(self, "values()").values);
}

Tensor sparse_detached(const Tensor& self) {
  sparse_parts(self, "detach()");
  return same_storage(self);
}

void sparse_assign_(const Tensor& self, const Tensor& other) {
  check(equal(self.sizes(), other.sizes()), ErrorKind::runtime, "sparse_assign_(): a result of ",
        "shape ", other.sizes(), " cannot be written to a tensor of shape ", self.sizes());
  replace_sparse_parts(self, sparse_parts(other, "sparse_assign_()"), "sparse_assign_()");
}

}  // namespace flambeau::any
