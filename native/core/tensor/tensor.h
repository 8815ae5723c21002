#pragma once

#include <optional>
#include <vector>

#include "core/backends/device.h"
#include "core/base/intrusive.h"
#include "core/geometry/shape.h"
#include "core/memory/storage.h"
#include "core/types/dtype.h"
#include "core/types/scalar.h"

namespace flambeau {

/// What autograd hangs on a tensor; defined in autograd/. Null for tensors that it does not track.
class FLAMBEAU_API AutogradState {
 public:
  virtual ~AutogradState() = default;
  /// The tensor that it hangs on got other sizes, another dtype or device.
  virtual void follow_geometry(const class Tensor& tensor) = 0;
};

/// Whether tensors that this thread makes are inference tensors: never recorded, never saved.
extern FLAMBEAU_API thread_local constinit bool inference_mode
    __attribute__((tls_model("initial-exec")));

/// Geometry, dtype and storage of one tensor. Pooled: creating and dropping one costs no malloc.
class FLAMBEAU_API TensorImpl final : public RefCounted {
 public:
  Ref<Storage> storage;
  int64_t offset = 0;  ///< in elements
  int64_t numel = 0;
  Shape sizes, strides;  ///< strides in elements; may be 0 or negative
  DType dtype = DType::float32;
  bool contiguous = true;       ///< row-major and dense
  bool wrapped_number = false;  ///< made from a Python number: weak in type promotion
  bool inference = inference_mode;
  AutogradState* autograd = nullptr;  ///< owned
  void* python_object =
      nullptr;  ///< the Python wrapper while one is alive (see python/objects/tensor_object.h)
  bool owns_python_object = false;

  static Ref<TensorImpl> make();
  /// Recomputes numel and contiguous after sizes or strides changed.
  void refresh_geometry();
  /// For assertions: whether every element lies in the storage's bytes.
  bool lies_inside_storage() const;

 protected:
  void destroy() noexcept override;

 private:
  TensorImpl() = default;
};

/// Called when an implementation that owns its Python wrapper dies (set by the binding).
extern FLAMBEAU_API void (*release_python_object)(void* object) noexcept;

/// A handle on a TensorImpl: one pointer, cheap to copy, possibly undefined (the C++ None).
class FLAMBEAU_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }
  bool is_same(const Tensor& other) const { return impl_.get() == other.impl_.get(); }

  int64_t dim() const { return static_cast<int64_t>(impl_->sizes.size()); }
  const Shape& sizes() const { return impl_->sizes; }
  const Shape& strides() const { return impl_->strides; }
  /// dim may be negative.
  int64_t size(int64_t dim) const { return impl_->sizes[axis(dim, "size")]; }
  int64_t stride(int64_t dim) const { return impl_->strides[axis(dim, "stride")]; }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  DType dtype() const { return impl_->dtype; }
  size_t itemsize() const { return size_of(impl_->dtype); }
  Device device() const { return impl_->storage->device(); }
  bool is_contiguous() const { return impl_->contiguous; }
  const Ref<Storage>& storage() const { return impl_->storage; }
  uint32_t version() const { return impl_->storage->version(); }
  void bump_version() const { impl_->storage->bump_version(); }

  /// Error(not_implemented) for a tensor that has no strided bytes.
  void* raw_data() const {
    if (FLAMBEAU_UNLIKELY(device().backend == Backend::sparse_coo)) fail_without_bytes();
    FLAMBEAU_ASSERT(impl_->lies_inside_storage());
    return static_cast<char*>(impl_->storage->data()) +
           impl_->offset * static_cast<int64_t>(itemsize());
  }
  /// Unchecked: the caller knows the dtype.
  template <class T>
  T* data() const {
    return static_cast<T*>(raw_data());
  }

 private:
  /// IndexError where there is none: a 0-d tensor has no dim at all.
  size_t axis(int64_t dim, const char* op) const;
  [[noreturn]] void fail_without_bytes() const;
  Ref<TensorImpl> impl_;
};

using TensorList = std::span<const Tensor>;

/// An argument declared `Tensor|Scalar`. Borrows the tensor: valid while the call lasts.
class Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(&tensor) {}  // implicit on purpose
  Operand(const Scalar& scalar) : tensor_(nullptr), scalar_(scalar) {}
  Operand(int value) : Operand(Scalar(value)) {}
  Operand(int64_t value) : Operand(Scalar(value)) {}
  Operand(double value) : Operand(Scalar(value)) {}
  Operand(bool value) : Operand(Scalar(value)) {}
  bool is_tensor() const { return tensor_ != nullptr; }
  const Tensor& tensor() const { return *tensor_; }
  const Scalar& scalar() const { return scalar_; }
  IntList sizes() const { return tensor_ ? IntList(tensor_->sizes()) : IntList(); }

 private:
  const Tensor* tensor_;
  Scalar scalar_;
};

/// Uninitialised memory (core/tensor/tensor.cpp; no autograd). Error(runtime) on negative or
/// overflowing sizes.
FLAMBEAU_API Tensor empty(IntList sizes, DType dtype = default_dtype(), Device device = {});
FLAMBEAU_API Tensor empty_strided(IntList sizes, IntList strides, DType dtype, Device device);
/// A tensor over existing storage; checks that it lies inside. `dtype`: the base's unless given;
/// strides and offset are in its elements.
FLAMBEAU_API Tensor make_view(const Tensor& base, IntList sizes, IntList strides, int64_t offset,
                              std::optional<DType> dtype = {});
/// Gives a tensor new sizes in row-major order, growing its storage when that is too small.
/// Error(runtime) that names `op` when the storage would have to grow and cannot.
FLAMBEAU_API void resize_data(const Tensor& tensor, IntList sizes, const char* op);
/// A 0-d CPU tensor that is weak in promotion.
FLAMBEAU_API Tensor wrap_number(const Scalar& value);
/// Copies elements with broadcasting and dtype conversion, any layout, any pair of backends; no
/// autograd.
FLAMBEAU_API void copy_data(const Tensor& destination, const Tensor& source);
/// A dense row-major copy, or the tensor itself when it is one already (no autograd).
FLAMBEAU_API Tensor contiguous_data(const Tensor& tensor);
/// A copy in another dtype, or the tensor itself (no autograd).
FLAMBEAU_API Tensor cast_data(const Tensor& tensor, DType dtype);
/// The one element as a Scalar; synchronises with the device. Error(runtime) unless numel is 1.
FLAMBEAU_API Scalar item(const Tensor& tensor);
/// Fills without autograd.
FLAMBEAU_API void fill_data(const Tensor& tensor, const Scalar& value);

}  // namespace flambeau
