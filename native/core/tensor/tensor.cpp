#include "core/tensor/tensor.h"

#include <algorithm>
#include <new>

#include "core/memory/small_blocks.h"

namespace flambeau {

void (*release_python_object)(void* object) noexcept = nullptr;

namespace {
constexpr int kTensorClass = detail::small_class(sizeof(TensorImpl));

[[noreturn, gnu::cold]] void too_large(IntList sizes, DType dtype, const char* op = "empty") {
  fail(ErrorKind::runtime, op, ": a tensor of shape ", ShapeText{sizes}, " and dtype ", dtype,
       " does not fit 64 bits of bytes");
}

void check_rank(size_t rank, const char* op) {
  check(rank <= kMaxDims, ErrorKind::runtime, op, ": a tensor has at most ", kMaxDims,
        " dimensions, got ", rank);
}

/// The first and last element that the geometry reaches, from `offset`; none when it is empty.
/// Returns false on overflow.
bool reach(IntList sizes, IntList strides, int64_t offset, int64_t& lowest, int64_t& highest) {
  lowest = highest = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t step;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step)) return false;
    int64_t& bound = step < 0 ? lowest : highest;
    if (__builtin_add_overflow(bound, step, &bound)) return false;
  }
  return true;
}

/// Exactly the strides that `empty` gives, those of single elements too.
bool is_row_major(IntList sizes, IntList strides) {
  uint64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] <= 0 || static_cast<uint64_t>(strides[i]) != expected) return false;
    expected *= static_cast<uint64_t>(sizes[i]);
  }
  return true;
}
}  // namespace

Ref<TensorImpl> TensorImpl::make() {
  return Ref<TensorImpl>::adopt_new(new (detail::take_small(kTensorClass)) TensorImpl);
}

void TensorImpl::destroy() noexcept {
  if (FLAMBEAU_UNLIKELY(owns_python_object)) release_python_object(python_object);
  if (FLAMBEAU_UNLIKELY(autograd != nullptr)) delete autograd;
  this->~TensorImpl();
  detail::give_small(this, kTensorClass);
}

void TensorImpl::refresh_geometry() {
  numel = checked_numel(sizes, "tensor");
  contiguous = true;
  if (numel == 0) return;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) {
      contiguous = false;
      return;
    }
    expected *= sizes[i];
  }
}

bool TensorImpl::lies_inside_storage() const {
  if (numel == 0 || storage->device().is_meta()) return true;
  int64_t lowest, highest, end;
  return reach(sizes, strides, offset, lowest, highest) && lowest >= 0 &&
         !__builtin_mul_overflow(highest + 1, static_cast<int64_t>(size_of(dtype)), &end) &&
         static_cast<size_t>(end) <= storage->bytes();
}

Tensor empty(IntList sizes, DType dtype, Device device) {
  Ref<TensorImpl> impl = TensorImpl::make();
  const size_t rank = sizes.size();
  check_rank(rank, "empty");
  impl->sizes.reset(rank);
  impl->strides.reset(rank);
  int64_t numel = 1, step = 1;
  bool overflow = false, negative = false;
  for (size_t i = rank; i-- > 0;) {
    const int64_t size = sizes[i];
    impl->sizes[i] = size;
    impl->strides[i] = step;
    negative |= size < 0;
    overflow |= __builtin_mul_overflow(step, std::max<int64_t>(size, 1), &step);
    overflow |= __builtin_mul_overflow(numel, size, &numel);
  }
  int64_t bytes;
  overflow |= __builtin_mul_overflow(numel, static_cast<int64_t>(size_of(dtype)), &bytes);
  if (FLAMBEAU_UNLIKELY(negative || overflow)) {
    // A zero among huge sizes is fine; only then is there a number here.
    numel = checked_numel(sizes, "empty");
    if (numel != 0) too_large(sizes, dtype);
    bytes = 0;
    impl->strides = contiguous_strides(sizes);
  }
  impl->numel = numel;
  impl->dtype = dtype;
  impl->storage = Storage::allocate(static_cast<size_t>(bytes), device);
  return Tensor(std::move(impl));
}

Tensor empty_strided(IntList sizes, IntList strides, DType dtype, Device device) {
  check(sizes.size() == strides.size(), ErrorKind::runtime, "empty_strided: ", sizes.size(),
        " sizes with ", strides.size(), " strides");
  check_rank(sizes.size(), "empty_strided");
  if (is_row_major(sizes, strides)) return empty(sizes, dtype, device);
  const int64_t numel = checked_numel(sizes, "empty_strided");
  int64_t lowest = 0, highest = -1, bytes = 0;
  bool fits = true;
  if (numel > 0) {
    fits = reach(sizes, strides, 0, lowest, highest) &&
           !__builtin_mul_overflow(highest + 1, static_cast<int64_t>(size_of(dtype)), &bytes);
    check(lowest >= 0, ErrorKind::runtime, "empty_strided: strides must not be negative, got ",
          ShapeText{strides});
  }
  check(fits, ErrorKind::runtime, "empty_strided: sizes ", ShapeText{sizes}, " with strides ",
        ShapeText{strides}, " do not fit 64 bits of bytes");
  Ref<TensorImpl> impl = TensorImpl::make();
  impl->sizes.assign(sizes);
  impl->strides.assign(strides);
  impl->dtype = dtype;
  impl->refresh_geometry();
  impl->storage = Storage::allocate(static_cast<size_t>(bytes), device);
  return Tensor(std::move(impl));
}

Tensor make_view(const Tensor& base, IntList sizes, IntList strides, int64_t offset,
                 std::optional<DType> dtype) {
  check(base.device().backend != Backend::sparse_coo, ErrorKind::not_implemented,
        "view: a tensor of layout sparse_coo and shape ", base.sizes(),
        " has no strided memory to look at; convert it with to_dense()");
  Ref<TensorImpl> impl = TensorImpl::make();
  impl->sizes.assign(sizes);
  impl->strides.assign(strides);
  impl->dtype = dtype.value_or(base.dtype());
  impl->offset = offset;
  check(sizes.size() == strides.size() && sizes.size() <= kMaxDims, ErrorKind::runtime,
        "view: got ", sizes.size(), " sizes and ", strides.size(),
        " strides; expected as many of both, ", kMaxDims, " at most");
  impl->refresh_geometry();
  impl->storage = base.storage();
  // Neither sum nor product can overflow once both terms are below the number of bytes.
  const uint64_t bytes = base.storage()->bytes(), first = static_cast<uint64_t>(offset),
                 count = static_cast<uint64_t>(impl->numel);
  const bool fits = impl->contiguous && offset >= 0 && first <= bytes && count <= bytes &&
                    (first + count) * size_of(impl->dtype) <= bytes;
  if (fits) return Tensor(std::move(impl));
  if (impl->numel > 0) {
    int64_t lowest, highest;
    const int64_t capacity = static_cast<int64_t>(base.storage()->bytes() / size_of(impl->dtype));
    check(reach(sizes, strides, offset, lowest, highest) && lowest >= 0 && highest < capacity,
          ErrorKind::runtime, "view: sizes ", ShapeText{sizes}, ", strides ", ShapeText{strides},
          " and offset ", offset, " reach outside a storage of ", capacity, " elements");
  } else {
    check(offset >= 0, ErrorKind::runtime, "view: the storage offset must not be negative, got ",
          offset);
  }
  return Tensor(std::move(impl));
}

void Tensor::fail_without_bytes() const {
  fail(ErrorKind::not_implemented, "the elements of a tensor of layout sparse_coo and shape ",
       sizes(), " do not lie in memory by strides; convert it with to_dense()");
}

size_t Tensor::axis(int64_t dim, const char* op) const {
  check(this->dim() > 0, ErrorKind::index, op, "(): a 0-d tensor has no dim ", dim);
  return static_cast<size_t>(wrap_dim(dim, this->dim(), op));
}

void resize_data(const Tensor& tensor, IntList sizes, const char* op) {
  check_rank(sizes.size(), op);
  const int64_t numel = checked_numel(sizes, op);
  TensorImpl& impl = *tensor.impl();
  int64_t bytes;
  if (__builtin_add_overflow(impl.offset, numel, &bytes) ||
      __builtin_mul_overflow(bytes, static_cast<int64_t>(tensor.itemsize()), &bytes))
    too_large(sizes, tensor.dtype(), op);
  Shape own_sizes(sizes), strides = contiguous_strides(sizes);
  if (numel > 0) impl.storage->grow(static_cast<size_t>(bytes), op);
  impl.sizes = std::move(own_sizes);
  impl.strides = std::move(strides);
  impl.refresh_geometry();
  if (impl.autograd) impl.autograd->follow_geometry(tensor);
}

Tensor wrap_number(const Scalar& value) {
  // Held at full precision; in promotion it counts as the default dtype of its kind.
  DType dtype = value.dtype();
  if (value.is_floating()) dtype = DType::float64;
  if (value.is_complex()) dtype = DType::complex128;
  Tensor tensor = empty({}, dtype, Device{});
  switch (value.kind()) {
    case Scalar::Kind::boolean:
      *tensor.data<bool>() = value.to<bool>();
      break;
    case Scalar::Kind::integer:
    case Scalar::Kind::natural:
      *tensor.data<int64_t>() = value.to<int64_t>();
      break;
    case Scalar::Kind::floating:
      *tensor.data<double>() = value.to<double>();
      break;
    case Scalar::Kind::complex:
      *tensor.data<complex<double>>() = value.to<complex<double>>();
      break;
  }
  tensor.impl()->wrapped_number = true;
  return tensor;
}

}  // namespace flambeau
