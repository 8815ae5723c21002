#include "core/memory/storage.h"
#include "core/tensor/tensor.h"

namespace flambeau {

void Storage::grow(size_t bytes, const char* op) {
  if (bytes <= bytes_) return;
  check(release_ == nullptr, ErrorKind::runtime, op, "(): a storage of ", bytes_,
        " bytes over memory that belongs to someone else (an array, a shared or aliased storage) "
        "cannot grow to ",
        bytes, " bytes");
  check(pins_.load(std::memory_order_relaxed) == 0, ErrorKind::runtime, op, "(): a storage of ",
        bytes_, " bytes cannot grow to ", bytes,
        " bytes while its memory is shared (with an array, a memoryview, a DLPack capsule or "
        "Tensor.data)");
  Ref<Storage> fresh = allocate(bytes, device_);
  if (bytes_ > 0 && !device_.is_meta()) {
    const auto bytes_of = [kept = static_cast<int64_t>(bytes_)](Ref<Storage> storage) {
      Ref<TensorImpl> impl = TensorImpl::make();
      impl->storage = std::move(storage);
      impl->sizes = Shape{kept};
      impl->strides = Shape{1};
      impl->dtype = DType::uint8;
      impl->refresh_geometry();
      return Tensor(std::move(impl));
    };
    copy_data(bytes_of(fresh), bytes_of(Ref<Storage>(this)));
  }
  std::swap(data_, fresh->data_);
  std::swap(bytes_, fresh->bytes_);
}

}  // namespace flambeau
