#include "python/interop/dlpack.h"

#include <memory>

#include "autograd/graph/history.h"
#include "python/base/names.h"
#include "python/calls/arguments.h"
#include "python/calls/define.h"
#include "python/calls/results.h"
#include "python/interop/interop.h"
#include "python/objects/construct.h"

namespace flambeau::python {

namespace {

using dlpack::Array;
using dlpack::Managed;
using dlpack::ManagedVersioned;

constexpr const char* kName = "dltensor";
constexpr const char* kUsedName = "used_dltensor";
constexpr const char* kVersionedName = "dltensor_versioned";
constexpr const char* kUsedVersionedName = "used_dltensor_versioned";

dlpack::TypeDescription describe(DType dtype) {
  uint8_t code = dlpack::kInt;
  switch (category(dtype)) {
    case DTypeCategory::boolean:
      code = dlpack::kBool;
      break;
    case DTypeCategory::unsigned_integer:
    case DTypeCategory::limited_integer:
      code = dlpack::kUnsigned;
      break;
    case DTypeCategory::signed_integer:
      code = dlpack::kInt;
      break;
    case DTypeCategory::floating:
      code = dtype == DType::bfloat16 ? dlpack::kBfloat : dlpack::kFloat;
      break;
    case DTypeCategory::complex:
      code = dlpack::kComplex;
      break;
  }
  return {code, static_cast<uint8_t>(8 * size_of(dtype)), 1};
}

DType dtype_of(const dlpack::TypeDescription& type) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto known = describe(static_cast<DType>(i));
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) {
      return static_cast<DType>(i);
    }
  }
  fail(ErrorKind::type, "from_dlpack(): elements of type code ", int{type.code}, " with ",
       int{type.bits}, " bits and ", type.lanes, " lanes have no dtype here");
}

dlpack::DeviceCode device_code(Device device) {
  check(!device.is_meta(), ErrorKind::runtime,
        "__dlpack__(): a meta tensor has no memory to share");
  if (device.is_cpu()) return {dlpack::kCpu, 0};
  check(device.backend == Backend::cuda, ErrorKind::runtime,
        "__dlpack__(): DLPack has no code for ", device);
  return {dlpack::kCuda, device.index};
}

Device device_of(const dlpack::DeviceCode& code) {
  if (code.device_type == dlpack::kCpu || code.device_type == dlpack::kCudaHost) return Device{};
  check(code.device_type == dlpack::kCuda, ErrorKind::runtime, "from_dlpack(): device type ",
        code.device_type, " is not known here");
  return Device{Backend::cuda, static_cast<int8_t>(code.device_id)};
}

/// An exported tensor: the structure, and what it points to. Whatever becomes of the tensor, its
/// memory stays.
template <class Exchange>
struct Export {
  Exchange exchange{};
  PinnedStorage memory;
  Shape sizes, strides;
  explicit Export(const Tensor& tensor)
      : memory(tensor.storage()), sizes(tensor.sizes()), strides(tensor.strides()) {}
};

template <class Exchange>
Exchange* make_export(const Tensor& tensor) {
  auto owner = std::make_unique<Export<Exchange>>(tensor);
  Exchange& exchange = owner->exchange;
  exchange.array = Array{tensor.raw_data(),
                         device_code(tensor.device()),
                         static_cast<int32_t>(tensor.dim()),
                         describe(tensor.dtype()),
                         owner->sizes.data(),
                         owner->strides.data(),
                         0};
  exchange.deleter = [](Exchange* self) { delete static_cast<Export<Exchange>*>(self->context); };
  exchange.context = owner.get();
  return &owner.release()->exchange;  // its deleter owns it now
}

/// Frees an export that nobody took.
template <class Exchange>
void drop_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* exchange = static_cast<Exchange*>(PyCapsule_GetPointer(capsule, name));
  exchange->deleter(exchange);
}

PyObject* export_capsule(const Tensor& tensor, bool versioned, bool copied) {
  if (!versioned) {
    return PyCapsule_New(make_export<Managed>(tensor), kName,
                         [](PyObject* capsule) { drop_capsule<Managed>(capsule, kName); });
  }
  auto* exchange = make_export<ManagedVersioned>(tensor);
  exchange->version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  exchange->flags = copied ? dlpack::kCopied : 0;
  return PyCapsule_New(exchange, kVersionedName, [](PyObject* capsule) {
    drop_capsule<ManagedVersioned>(capsule, kVersionedName);
  });
}

/// Two ints in a tuple, as max_version and dl_device are.
std::pair<int64_t, int64_t> to_pair(PyObject* value, const char* argument) {
  const Parameter integer{"", Kind::integer};
  check(PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2 &&
            accepts(integer, PyTuple_GET_ITEM(value, 0)) &&
            accepts(integer, PyTuple_GET_ITEM(value, 1)),
        ErrorKind::type, "__dlpack__(): argument '", argument,
        "' must be a tuple of two ints or None, not ", describe_type(value));
  return {to_int(PyTuple_GET_ITEM(value, 0)), to_int(PyTuple_GET_ITEM(value, 1))};
}

PyRef to_capsule(const Tensor& self, PyObject*, PyObject* max_version, PyObject* device,
                 PyObject* copy) {
  check(!autograd::requires_grad(self), ErrorKind::runtime,
        "__dlpack__(): the tensor requires grad, which other libraries cannot record; use "
        "detach()");
  const dlpack::DeviceCode own = device_code(self.device());
  if (device != Py_None) {
    const auto [type, index] = to_pair(device, "dl_device");
    check(type == own.device_type && index == own.device_id, ErrorKind::value,
          "__dlpack__(): the tensor is on ", self.device(), "; copy it with to() first");
  }
  const int64_t major = max_version == Py_None ? 0 : to_pair(max_version, "max_version").first;
  if (copy != Py_True) return PyRef(export_capsule(self, major >= 1, false));
  const Tensor fresh = empty(self.sizes(), self.dtype(), self.device());
  copy_data(fresh, self);
  return PyRef(export_capsule(fresh, major >= 1, true));
}

std::tuple<int64_t, int64_t> dlpack_device(const Tensor& self) {
  const dlpack::DeviceCode code = device_code(self.device());
  return {code.device_type, code.device_id};
}

/// Bytes from the first element to the end of the last one.
size_t extent_of(IntList sizes, IntList strides, DType dtype) {
  int64_t last = 0, bytes = 0;
  bool fits = true;
  for (size_t i = 0; i < sizes.size(); ++i) {
    check(strides[i] >= 0 || sizes[i] <= 1, ErrorKind::value,
          "from_dlpack(): the array has a negative stride, which a tensor that shares its memory "
          "cannot have; copy it first");
    int64_t step = 0;
    fits = fits && !__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) &&
           !__builtin_add_overflow(last, step, &last);
  }
  fits = fits && !__builtin_mul_overflow(last + 1, static_cast<int64_t>(size_of(dtype)), &bytes);
  check(fits, ErrorKind::value, "from_dlpack(): sizes ", ShapeText{sizes}, " with strides ",
        ShapeText{strides}, " do not fit 64 bits of bytes");
  return static_cast<size_t>(bytes);
}

template <class Exchange>
Tensor import_exchange(Exchange* exchange) {
  const Array& array = exchange->array;
  check(array.ndim >= 0 && array.ndim <= kMaxDims, ErrorKind::value,
        "from_dlpack(): a tensor has at most ", kMaxDims, " dimensions, got ", array.ndim);
  const IntList sizes(array.shape, static_cast<size_t>(array.ndim));
  const DType dtype = dtype_of(array.dtype);
  const Device device = device_of(array.device);
  Ref<TensorImpl> impl = TensorImpl::make();
  impl->sizes.assign(sizes);
  impl->strides =
      array.strides ? Shape(IntList(array.strides, sizes.size())) : contiguous_strides(sizes);
  impl->dtype = dtype;
  impl->refresh_geometry();
  const size_t bytes = impl->numel == 0 ? 0 : extent_of(sizes, impl->strides, dtype);
  void* const data = static_cast<char*>(array.data) + array.byte_offset;
  check(bytes == 0 || is_aligned(data, dtype), ErrorKind::value,
        "from_dlpack(): the memory of the array begins at an address that is no multiple of the "
        "element size; copy it first");
  // The producer's deleter may need the GIL.
  const auto release = [](void* context) noexcept {
    if (!interpreter_alive()) return;
    const AcquireGil gil;
    auto* taken = static_cast<Exchange*>(context);
    if (taken->deleter) taken->deleter(taken);
  };
  impl->storage = Storage::borrow(data, bytes, device, exchange, release);
  return Tensor(std::move(impl));
}

Tensor import_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedName)) {
    auto* exchange = static_cast<ManagedVersioned*>(PyCapsule_GetPointer(capsule, kVersionedName));
    check(exchange->version.major <= dlpack::kMajorVersion, ErrorKind::runtime,
          "from_dlpack(): the data has DLPack version ", exchange->version.major,
          ", only up to version ", dlpack::kMajorVersion, " is understood");
    Tensor tensor = import_exchange(exchange);
    checked(PyCapsule_SetName(capsule, kUsedVersionedName));
    return tensor;
  }
  check(PyCapsule_IsValid(capsule, kName), ErrorKind::runtime,
        "from_dlpack(): the capsule was used already, or is none of DLPack");
  Tensor tensor = import_exchange(static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName)));
  checked(PyCapsule_SetName(capsule, kUsedName));
  return tensor;
}

PyRef from_dlpack(PyObject* source) {
  if (PyCapsule_CheckExact(source)) return PyRef(to_python(import_capsule(source)));
  check(PyObject_HasAttr(source, interned<"__dlpack__">()), ErrorKind::type,
        "from_dlpack(): expected an object with __dlpack__ or a DLPack capsule, got ",
        describe_type(source));
  const PyRef method = checked(PyObject_GetAttr(source, interned<"__dlpack__">()));
  const PyRef none = checked(PyTuple_New(0));
  const PyRef version = checked(
      Py_BuildValue("{s(II)}", "max_version", dlpack::kMajorVersion, dlpack::kMinorVersion));
  PyRef capsule(PyObject_Call(method.get(), none.get(), version.get()));
  if (!capsule) {
    // Producers older than version 1 do not know the keyword.
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw_python_error();
    PyErr_Clear();
    capsule = checked(PyObject_CallNoArgs(method.get()));
  }
  return PyRef(to_python(import_capsule(capsule.get())));
}

PyRef to_dlpack(const Tensor& tensor) {
  const PyRef object(to_python(tensor));
  return PyRef(checked(PyObject_CallMethodNoArgs(object.get(), interned<"__dlpack__">())));
}

constexpr Parameter self_parameter[] = {{"self", Kind::tensor}};
constexpr Parameter capsule_parameters[] = {{"self", Kind::tensor},
                                            {"stream", Kind::object, "None", kKeywordOnly},
                                            {"max_version", Kind::object, "None", kKeywordOnly},
                                            {"dl_device", Kind::object, "None", kKeywordOnly},
                                            {"copy", Kind::object, "None", kKeywordOnly}};
constexpr Parameter source_parameter[] = {{"source", Kind::object}};
constexpr Parameter tensor_parameter[] = {{"tensor", Kind::tensor}};

}  // namespace

PyMethodDef dlpack_methods[] = {
    define_method<"__dlpack__", to_capsule, capsule_parameters>(
        "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
        "A DLPack capsule on the tensor's memory."),
    define_method<"__dlpack_device__", dlpack_device, self_parameter>(
        "__dlpack_device__()\n--\n\nDLPack's codes of the device: (type, index)."),
    kNoMore};

PyMethodDef dlpack_functions[] = {
    define<"from_dlpack", from_dlpack, source_parameter>(
        "from_dlpack(source)\n--\n\n"
        "A tensor on the memory of an array of another library, given as an object with "
        "__dlpack__\n"
        "or as a capsule."
        "\n\nExample:\n"
        "    >>> import numpy\n"
        "    >>> flambeau.from_dlpack(numpy.arange(3))\n"
        "    tensor([0, 1, 2])"),
    define<"to_dlpack", to_dlpack, tensor_parameter>(
        "to_dlpack(tensor)\n--\n\nA DLPack capsule on the tensor's memory."
        "\n\nExample:\n"
        "    >>> flambeau.from_dlpack(flambeau.to_dlpack(flambeau.ones(2)))\n"
        "    tensor([1., 1.])"),
    kNoMore};

}  // namespace flambeau::python
