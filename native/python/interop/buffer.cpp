#include <cstring>
#include <memory>

#include "autograd/graph/grad_mode.h"
#include "autograd/graph/history.h"
#include "core/tensor/sparse.h"
#include "python/base/gil.h"
#include "python/base/names.h"
#include "python/calls/define.h"
#include "python/calls/results.h"
#include "python/interop/interop.h"
#include "python/interop/numpy_types.h"
#include "python/objects/storage_object.h"

namespace flambeau::python {

namespace {

/// The element code of PEP 3118; null where it has none.
const char* format_of(DType dtype) {
  switch (category(dtype)) {
    case DTypeCategory::boolean:
      return "?";
    case DTypeCategory::unsigned_integer:
    case DTypeCategory::limited_integer:
      return size_of(dtype) == 1   ? "B"
             : size_of(dtype) == 2 ? "H"
             : size_of(dtype) == 4 ? "I"
                                   : "Q";
    case DTypeCategory::signed_integer:
      return size_of(dtype) == 1   ? "b"
             : size_of(dtype) == 2 ? "h"
             : size_of(dtype) == 4 ? "i"
                                   : "q";
    case DTypeCategory::floating:
      if (dtype == DType::bfloat16) return nullptr;
      return size_of(dtype) == 2 ? "e" : size_of(dtype) == 4 ? "f" : "d";
    case DTypeCategory::complex:
      return size_of(dtype) == 8 ? "Zf" : "Zd";
  }
  return nullptr;
}

DType dtype_of_format(const Py_buffer& view, const char* op) {
  const char* format = view.format ? view.format : "B";
  if (*format == '>' || *format == '!') {
    fail(ErrorKind::value, op,
         "(): the elements are in big-endian byte order; convert them first: "
         "array.astype(array.dtype.newbyteorder('='))");
  }
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const bool complex = *format == 'Z';
  const char code = format[complex];
  if (code != '\0' && format[complex + 1] == '\0') {
    for (int i = 0; i < kDTypeCount; ++i) {
      const DType dtype = static_cast<DType>(i);
      const char* known = format_of(dtype);
      if (!known || static_cast<Py_ssize_t>(size_of(dtype)) != view.itemsize) continue;
      if (complex) {
        if (std::strcmp(known, format) == 0) return dtype;
      } else if (std::strchr("bhilqn", code)) {
        if (category(dtype) == DTypeCategory::signed_integer) return dtype;
      } else if (std::strchr("BHILQN", code)) {
        if (is_unsigned(dtype)) return dtype;
      } else if (known[0] == code || (code == 'c' && known[0] == 'B')) {
        return dtype;
      }
    }
  }
  std::string supported;
  for (const DTypeInfo& known : kDTypes) {
    if (std::strcmp(known.name, "bfloat16") != 0) {
      supported += std::string(supported.empty() ? "" : ", ") + known.name;
    }
  }
  fail(ErrorKind::type, op, "(): elements of format '", view.format ? view.format : "B", "' (",
       view.itemsize, " bytes) have no dtype here; supported are ", supported);
}

/// Another object's memory, given back when the last tensor on it goes.
struct Borrowed {
  Py_buffer view{};
  explicit Borrowed(PyObject* object, int flags) {
    checked(PyObject_GetBuffer(object, &view, flags));
  }
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() { PyBuffer_Release(&view); }
};

void release_borrowed(void* context) noexcept {
  if (!interpreter_alive()) return;
  const AcquireGil gil;
  delete static_cast<Borrowed*>(context);
}

void warn_read_only(const char* op) {
  static bool warned = false;
  if (std::exchange(warned, true)) return;
  const std::string text =
      std::string(op) +
      "(): the memory is read-only, but writes through the tensor are not prevented; copy it first "
      "if the tensor will be written to (this warning is given once)";
  checked(PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1));
}

/// A tensor over borrowed memory that starts at `data`.
Tensor tensor_over(std::unique_ptr<Borrowed> borrowed, void* data, IntList sizes, IntList strides,
                   DType dtype) {
  int64_t last = 0;
  bool empty_shape = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) empty_shape = true;
    last += (sizes[i] - 1) * strides[i];
  }
  const size_t bytes = empty_shape ? 0 : static_cast<size_t>(last + 1) * size_of(dtype);
  Ref<TensorImpl> impl = TensorImpl::make();
  impl->sizes.assign(sizes);
  impl->strides.assign(strides);
  impl->dtype = dtype;
  impl->refresh_geometry();
  impl->storage = Storage::borrow(data, bytes, Device{}, borrowed.get(), release_borrowed);
  borrowed.release();  // the storage owns it now
  return Tensor(std::move(impl));
}

Tensor copy_of_buffer(const Py_buffer& view, const Shape& sizes, DType dtype) {
  Tensor copy = empty(sizes, dtype);
  if (view.len > 0) {
    checked(PyBuffer_ToContiguous(copy.raw_data(), const_cast<Py_buffer*>(&view), view.len, 'C'));
  }
  return copy;
}

}  // namespace

Tensor from_buffer(PyObject* object, Sharing sharing, const char* op) {
  std::unique_ptr<Borrowed> borrowed;
  try {
    borrowed = std::make_unique<Borrowed>(object, PyBUF_RECORDS_RO);
  } catch (const PythonError& error) {
    fail(ErrorKind::type, op, "(): cannot read the elements of ", describe_type(object), ": ",
         error.what());
  }
  const Py_buffer& view = borrowed->view;
  // NumPy's dates give their bytes, without the strides that were asked for.
  check(view.ndim == 0 || view.strides, ErrorKind::type, op, "(): cannot make a tensor of ",
        describe_type(object));
  const DType dtype = dtype_of_format(view, op);
  Shape sizes, strides;
  bool whole = true, negative = false;
  for (int i = 0; i < view.ndim; ++i) {
    sizes.push_back(view.shape[i]);
    // The stride of a dimension that is never stepped along means nothing.
    const Py_ssize_t stride = view.shape[i] > 1 ? view.strides[i] : view.itemsize;
    whole &= stride % view.itemsize == 0;
    negative |= stride < 0;
    strides.push_back(stride / view.itemsize);
  }
  if (view.len == 0) strides = contiguous_strides(sizes);
  const bool aligned = view.len == 0 || is_aligned(view.buf, dtype);
  if (sharing == Sharing::copy) {
    if (!whole || negative || !aligned || PyBuffer_IsContiguous(&view, 'C')) {
      return copy_of_buffer(view, sizes, dtype);
    }
    Tensor copy = empty(sizes, dtype);
    void* data = view.buf;
    copy_data(copy, tensor_over(std::move(borrowed), data, sizes, strides, dtype));
    return copy;
  }
  check(!negative, ErrorKind::value, op,
        "(): the array has a negative stride, which a tensor that shares its memory cannot have; "
        "pass array.copy()");
  check(whole, ErrorKind::value, op,
        "(): a stride of the array is not a multiple of its element size; pass array.copy()");
  check(aligned, ErrorKind::value, op,
        "(): the memory of the array begins at an address that is "
        "no multiple of the element size; pass array.copy()");
  if (view.readonly) warn_read_only(op);
  void* data = view.buf;
  return tensor_over(std::move(borrowed), data, sizes, strides, dtype);
}

// The buffer protocol of tensors ---------------------------------------------------------------

namespace {

/// What Py_buffer::internal holds of an export: the memory, whatever becomes of the tensor, and the
/// geometry that the view points to.
struct ExportedBuffer {
  PinnedStorage memory;
  Shape sizes, byte_strides;
};

int refuse_buffer(Py_buffer* view, const char* reason) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, reason);
  return -1;
}

/// Why no view of the tensor can be given; null: it can.
const char* buffer_refusal(const Tensor& tensor, int flags) {
  if (is_sparse(tensor)) {
    return "a tensor of layout sparse_coo has no strided memory; use to_dense() first";
  }
  if (!tensor.device().is_cpu()) return "the tensor is not on the CPU; use cpu() first";
  if (grad_enabled() && autograd::requires_grad(tensor)) {
    return "the tensor requires grad; use detach() first";
  }
  if (!format_of(tensor.dtype())) return "bfloat16 has no buffer format; use float() first";
  int64_t bytes = 0;
  if (__builtin_mul_overflow(tensor.numel(), static_cast<int64_t>(tensor.itemsize()), &bytes)) {
    return "the tensor repeats its memory over more bytes than 64 bits count";
  }
  const bool wants_dense =
      !(flags & PyBUF_STRIDES & ~PyBUF_ND) || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if (wants_dense && !tensor.is_contiguous()) {
    return "the tensor is not contiguous; use contiguous() first";
  }
  return nullptr;
}

/// The view belongs to the storage's object: arrays tell the garbage collector of nothing that they
/// hold, and a tensor with hooks may lead back to them.
void fill_view(Py_buffer* view, const Tensor& tensor, int flags) {
  PyRef owner = checked(wrap_storage(tensor.storage()));
  const auto itemsize = static_cast<int64_t>(tensor.itemsize());
  auto exported = std::make_unique<ExportedBuffer>(
      ExportedBuffer{PinnedStorage(tensor.storage()), tensor.sizes(), tensor.strides()});
  const bool empty = tensor.numel() == 0;
  for (int64_t& stride : exported->byte_strides) {
    // What does not fit is never followed.
    if (empty || __builtin_mul_overflow(stride, itemsize, &stride)) stride = itemsize;
  }
  static char nothing[16];
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  view->buf = empty ? nothing : tensor.raw_data();
  view->len = tensor.numel() * itemsize;
  view->itemsize = itemsize;
  view->readonly = 0;
  view->ndim = static_cast<int>(tensor.dim());
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format_of(tensor.dtype())) : nullptr;
  view->shape = flags & PyBUF_ND ? exported->sizes.data() : nullptr;
  view->strides =
      (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->byte_strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported.release();
  view->obj = owner.release();
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& tensor = unwrap(self);
  return guarded_number<int>([&] {
    view->obj = nullptr;
    if (const char* reason = buffer_refusal(tensor, flags)) return refuse_buffer(view, reason);
    fill_view(view, tensor, flags);
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<ExportedBuffer*>(view->internal);
  view->internal = nullptr;
}

int get_storage_buffer(PyObject* self, const Ref<Storage>& storage, Py_buffer* view, int flags) {
  return guarded_number<int>([&] {
    view->obj = nullptr;
    if (!storage->device().is_cpu()) return refuse_buffer(view, "the storage is not on the CPU");
    auto exported =
        std::make_unique<ExportedBuffer>(ExportedBuffer{PinnedStorage(storage), {}, {}});
    static char nothing = 0;
    void* data = storage->bytes() == 0 ? &nothing : storage->data();
    checked(
        PyBuffer_FillInfo(view, self, data, static_cast<Py_ssize_t>(storage->bytes()), 0, flags));
    view->internal = exported.release();
    return 0;
  });
}

// Functions and methods ------------------------------------------------------------------------

namespace {

PyRef array_of(PyObject* self, const char* op) {
  const Tensor& tensor = unwrap(self);
  check(!grad_enabled() || !autograd::requires_grad(tensor), ErrorKind::runtime, op,
        ": the tensor requires grad, which an array cannot record; use detach().numpy()");
  check(!is_sparse(tensor), ErrorKind::type, op,
        ": a tensor of layout sparse_coo has no strided memory; use to_dense() first");
  check(tensor.device().is_cpu(), ErrorKind::type, op, ": the tensor is on ", tensor.device(),
        ", NumPy arrays live on the CPU; use cpu() first");
  check(format_of(tensor.dtype()) != nullptr, ErrorKind::type, op, ": NumPy has no dtype ",
        tensor.dtype(), "; use float() first");
  const PyRef module = checked(PyImport_ImportModule("numpy"));
  return checked(PyObject_CallMethodOneArg(module.get(), interned<"asarray">(), self));
}

PyRef numpy(PyObject* self, bool force) {
  if (!force) return array_of(self, "numpy()");
  const PyRef detached = checked(wrap(autograd::detach(unwrap(self))));
  const PyRef local = checked(PyObject_CallMethodNoArgs(detached.get(), interned<"cpu">()));
  return array_of(local.get(), "numpy()");
}

PyRef array(PyObject* self, PyObject* dtype, PyObject* copy) {
  const PyRef result = array_of(self, "__array__()");
  if (dtype != Py_None) {
    return PyRef(PyObject_CallMethodObjArgs(result.get(), interned<"astype">(), dtype,
                                            interned<"K">(), interned<"unsafe">(), Py_True,
                                            copy == Py_True ? Py_True : Py_False, nullptr));
  }
  if (copy != Py_True) return result;
  return PyRef(PyObject_CallMethodNoArgs(result.get(), interned<"copy">()));
}

PyRef from_numpy(PyObject* array) {
  check(is_numpy_array(array), ErrorKind::type, "from_numpy(): expected a numpy.ndarray, got ",
        describe_type(array));
  return PyRef(to_python(from_buffer(array, Sharing::share, "from_numpy")));
}

Tensor frombuffer(PyObject* buffer, DType dtype, int64_t count, int64_t offset) {
  check(PyObject_CheckBuffer(buffer) != 0, ErrorKind::type,
        "frombuffer(): expected an object with the buffer protocol, got ", describe_type(buffer));
  const auto itemsize = static_cast<int64_t>(size_of(dtype));
  auto borrowed = std::make_unique<Borrowed>(buffer, PyBUF_SIMPLE);
  if (borrowed->view.readonly) warn_read_only("frombuffer");
  const int64_t bytes = borrowed->view.len;
  check(offset >= 0 && offset <= bytes, ErrorKind::value, "frombuffer(): offset ", offset,
        " lies outside the buffer of ", bytes, " bytes");
  if (count < 0) {
    check((bytes - offset) % itemsize == 0, ErrorKind::value, "frombuffer(): the ", bytes - offset,
          " bytes after the offset are no multiple of the element size ", itemsize, " of ", dtype);
    count = (bytes - offset) / itemsize;
  }
  check(count <= (bytes - offset) / itemsize, ErrorKind::value, "frombuffer(): ", count,
        " elements of ", itemsize, " bytes from offset ", offset, " need more than the buffer's ",
        bytes, " bytes");
  void* data = static_cast<char*>(borrowed->view.buf) + offset;
  check(count == 0 || is_aligned(data, dtype), ErrorKind::value,
        "frombuffer(): the byte at offset ", offset,
        " has an address that is no multiple of the element size ", itemsize, " of ", dtype,
        "; read the bytes as uint8, clone() them and view() them as ", dtype);
  return tensor_over(std::move(borrowed), data, Shape{count}, Shape{1}, dtype);
}

constexpr Parameter numpy_parameters[] = {{"self", Kind::tensor},
                                          {"force", Kind::boolean, {"False", false}, kKeywordOnly}};
constexpr Parameter array_parameters[] = {
    {"self", Kind::tensor}, {"dtype", Kind::object, "None"}, {"copy", Kind::object, "None"}};
constexpr Parameter array_parameter[] = {{"array", Kind::object}};
constexpr Parameter frombuffer_parameters[] = {
    {"buffer", Kind::object},
    {"dtype", Kind::dtype, {}, kKeywordOnly},
    {"count", Kind::integer, {"-1", -1}, kKeywordOnly},
    {"offset", Kind::integer, {"0", 0}, kKeywordOnly},
    {"requires_grad", Kind::boolean, "False", kKeywordOnly | kRequiresGrad}};

}  // namespace

PyMethodDef numpy_methods[] = {
    define_method<"numpy", numpy, numpy_parameters>(
        "numpy(*, force=False)\n--\n\n"
        "A NumPy array on the same memory. With `force`, a tensor that requires grad or lives on\n"
        "another device is detached and copied first; without, it raises."),
    define_method<"__array__", array, array_parameters>(nullptr), kNoMore};

PyMethodDef buffer_functions[] = {
    define<"from_numpy", from_numpy, array_parameter>(
        "from_numpy(array)\n--\n\n"
        "A tensor on the memory of a NumPy array, which it keeps alive. Raises ValueError for "
        "arrays\n"
        "with negative strides, foreign byte order or memory that is not aligned for its "
        "elements,\n"
        "TypeError for elements without a dtype here."
        "\n\nExample:\n"
        "    >>> import numpy\n"
        "    >>> array = numpy.zeros(2)\n"
        "    >>> tensor = flambeau.from_numpy(array)\n"
        "    >>> array[0] = 7\n"
        "    >>> tensor\n"
        "    tensor([7., 0.], dtype=flambeau.float64)"),
    define<"frombuffer", frombuffer, frombuffer_parameters>(
        "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)\n--\n\n"
        "A 1-d tensor on the memory of an object with the buffer protocol, from byte `offset` on."
        "\n\nExample:\n"
        "    >>> flambeau.frombuffer(bytearray([1, 0, 2, 0]), dtype=flambeau.int16)\n"
        "    tensor([1, 2], dtype=flambeau.int16)"),
    kNoMore};

}  // namespace flambeau::python
