#include "core/tensor/sparse.h"

#include <array>
#include <memory>
#include <mutex>

#include "core/memory/storage_alias.h"

namespace flambeau {

/// What the storage of a sparse tensor holds.
class SparseStorage {
 public:
  static Ref<Storage> make(const SparseParts& parts) {
    auto own = std::make_unique<SparseStorage>(parts);
    const Device place{Backend::sparse_coo, 0};
    Ref<Storage> storage = Storage::borrow(nullptr, 0, place, own.get(), release);
    own.release();  // the storage owns it now
    return storage;
  }
  /// Of a sparse tensor's storage, or of an alias of one.
  static SparseStorage& of(const Ref<Storage>& storage) {
    return *static_cast<SparseStorage*>(StorageAlias::base_of(storage)->context_);
  }

  explicit SparseStorage(const SparseParts& parts) : parts_(parts) {}
  SparseParts parts() const {
    const std::lock_guard guard(lock_);
    return parts_;
  }
  void replace(SparseParts parts) {
    const std::lock_guard guard(lock_);
    std::swap(parts_, parts);  // what was there goes after the lock
  }

 private:
  static void release(void* context) noexcept { delete static_cast<SparseStorage*>(context); }
  mutable std::mutex lock_;
  SparseParts parts_;
};

namespace {

/// The same memory without history.
Tensor bare(const Tensor& tensor) {
  return make_view(tensor, tensor.sizes(), tensor.strides(), tensor.offset());
}

void check_parts(const SparseParts& parts, IntList sizes, const char* op) {
  const Tensor &indices = parts.indices, &values = parts.values;
  check(indices.defined() && values.defined(), ErrorKind::type, op,
        ": expected a tensor of indices and one of values, got None");
  check(!is_sparse(indices) && !is_sparse(values), ErrorKind::type, op,
        ": indices and values must be strided, got a tensor of layout sparse_coo");
  check(indices.dtype() == DType::int64, ErrorKind::runtime, op, ": indices must be int64, got ",
        indices.dtype());
  check(indices.dim() == 2, ErrorKind::runtime, op,
        ": indices must be a matrix, [sparse dims, n], got shape ", indices.sizes());
  check(indices.device() == values.device(), ErrorKind::runtime, op, ": indices are on ",
        indices.device(), ", values on ", values.device());
  check(values.dim() > 0 && values.size(0) == indices.size(1), ErrorKind::runtime, op,
        ": values of shape ", values.sizes(), " do not go with indices of shape ", indices.sizes(),
        "; expected a value for each column");
  const auto sparse = static_cast<size_t>(indices.size(0));
  const size_t dense = values.sizes().size() - 1;
  check(parts.layout == SparseLayout::coo || sparse == 2, ErrorKind::not_implemented, op,
        ": a tensor of layout ", layout_name(parts.layout),
        " has one dim of rows and one of columns; ", "batches of matrices are not covered");
  check(sparse + dense == sizes.size(), ErrorKind::runtime, op, ": shape ", ShapeText{sizes},
        " has ", sizes.size(), " dims, but ", sparse, " sparse ones (the rows of indices) and ",
        dense, " dense ones (those of a value) were given");
  for (size_t i = 0; i < dense; ++i) {
    check(values.sizes()[i + 1] == sizes[sparse + i], ErrorKind::runtime, op, ": values of shape ",
          values.sizes(), " do not fill the dense dims of shape ", ShapeText{sizes});
  }
}

}  // namespace

const char* layout_name(SparseLayout layout) {
  constexpr std::array names{"sparse_coo", "sparse_csr", "sparse_csc"};
  return names[static_cast<size_t>(layout)];
}

const char* layout_name(const Tensor& tensor) {
  return is_sparse(tensor) ? layout_name(sparse_parts(tensor, "layout").layout) : "strided";
}

Device data_device(const Tensor& tensor) {
  return is_sparse(tensor) ? sparse_parts(tensor, "device").values.device() : tensor.device();
}

Tensor make_sparse(const SparseParts& parts, IntList sizes, const char* op) {
  check(sizes.size() <= kMaxDims, ErrorKind::runtime, op, ": a tensor has at most ", kMaxDims,
        " dimensions, got ", sizes.size());
  checked_numel(sizes, op);
  check_parts(parts, sizes, op);
  Ref<TensorImpl> impl = TensorImpl::make();
  impl->sizes.assign(sizes);
  impl->strides = contiguous_strides(sizes);
  impl->dtype = parts.values.dtype();
  impl->refresh_geometry();
  impl->contiguous = false;
  impl->storage =
      SparseStorage::make({bare(parts.indices), bare(parts.values), parts.coalesced, parts.layout});
  return Tensor(std::move(impl));
}

SparseParts sparse_parts(const Tensor& tensor, const char* op) {
  check(tensor.defined() && is_sparse(tensor), ErrorKind::type, op,
        ": expected a tensor of layout sparse_coo, got ",
        tensor.defined() ? "one of layout strided" : "None");
  return SparseStorage::of(tensor.storage()).parts();
}

void replace_sparse_parts(const Tensor& tensor, const SparseParts& parts, const char* op) {
  const SparseParts before = sparse_parts(tensor, op);
  check_parts(parts, tensor.sizes(), op);
  check(parts.values.dtype() == tensor.dtype(), ErrorKind::runtime, op, ": a result of dtype ",
        parts.values.dtype(), " cannot be written to a tensor of dtype ", tensor.dtype());
  check(parts.values.device() == before.values.device(), ErrorKind::runtime, op, ": a result on ",
        parts.values.device(), " cannot be written to a tensor on ", before.values.device());
  check(parts.layout == before.layout, ErrorKind::runtime, op, ": a result of layout ",
        layout_name(parts.layout), " cannot be written to a tensor of layout ",
        layout_name(before.layout));
  SparseStorage::of(tensor.storage())
      .replace({bare(parts.indices), bare(parts.values), parts.coalesced, parts.layout});
}

Tensor copy_sparse(const Tensor& tensor, const char* op) {
  const SparseParts parts = sparse_parts(tensor, op);
  const auto copied = [](const Tensor& part) {
    Tensor copy = empty(part.sizes(), part.dtype(), part.device());
    copy_data(copy, part);
    return copy;
  };
  return make_sparse({copied(parts.indices), copied(parts.values), parts.coalesced, parts.layout},
                     tensor.sizes(), op);
}

}  // namespace flambeau
