#include "core/tensor/alias.h"

namespace flambeau {

Tensor alias_of(const Tensor& source, Ref<Storage> storage) {
  Ref<TensorImpl> impl = TensorImpl::make();
  const TensorImpl& from = *source.impl();
  impl->storage = std::move(storage);
  impl->offset = from.offset;
  impl->numel = from.numel;
  impl->sizes = from.sizes;
  impl->strides = from.strides;
  impl->dtype = from.dtype;
  impl->contiguous = from.contiguous;
  return Tensor(std::move(impl));
}

}  // namespace flambeau
