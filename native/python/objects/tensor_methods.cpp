#include <cstring>

#include "autograd/graph/history.h"
#include "core/geometry/memory_format.h"
#include "core/memory/shared_storage.h"
#include "core/tensor/sparse.h"
#include "python/base/names.h"
#include "python/calls/define.h"
#include "python/calls/overrides.h"
#include "python/calls/results.h"
#include "python/objects/layout_object.h"
#include "python/objects/storage_object.h"
#include "python/objects/tensor_members.h"

namespace flambeau::python {

namespace {

using Method = PyObject* (*)(const Tensor& self);

/// A method without arguments.
template <Literal name, auto function, Layouts layouts = Layouts::strided>
PyObject* plain(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (asks(self)) {
      if (PyRef result = overridden(name.text, {&self, 1}, layouts)) return result.release();
    }
    return function(unwrap(self));
  });
}

PyRef size(const Tensor& self, std::optional<int64_t> dim) {
  return PyRef(dim ? PyLong_FromLongLong(self.size(*dim)) : to_size(self.sizes()));
}
PyRef stride(const Tensor& self, std::optional<int64_t> dim) {
  return PyRef(dim ? PyLong_FromLongLong(self.stride(*dim)) : to_tuple(self.strides()));
}

PyObject* dim(const Tensor& self) { return PyLong_FromLongLong(self.dim()); }
PyObject* numel(const Tensor& self) { return PyLong_FromLongLong(self.numel()); }
PyObject* element_size(const Tensor& self) { return PyLong_FromSize_t(self.itemsize()); }
PyObject* data_ptr(const Tensor& self) {
  return PyLong_FromVoidPtr(self.numel() == 0 ? nullptr : self.raw_data());
}
PyObject* storage_offset(const Tensor& self) { return PyLong_FromLongLong(self.offset()); }
PyObject* floating(const Tensor& self) { return PyBool_FromLong(is_floating(self.dtype())); }
PyObject* is_complex_method(const Tensor& self) {
  return PyBool_FromLong(is_complex(self.dtype()));
}
PyObject* is_signed(const Tensor& self) { return PyBool_FromLong(is_signed(self.dtype())); }
PyObject* is_inference(const Tensor& self) { return PyBool_FromLong(self.impl()->inference); }
PyObject* detach(const Tensor& self) { return to_python(autograd::detach(self)); }
PyObject* untyped_storage(const Tensor& self) { return wrap_storage(self.storage()); }
PyObject* is_shared(const Tensor& self) {
  return PyBool_FromLong(self.device().backend == Backend::cuda ||
                         SharedStorage::holds(*self.storage()));
}
PyObject* share_memory(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& tensor = unwrap(self);
    check(!is_sparse(tensor), ErrorKind::not_implemented,
          "Tensor.share_memory_(): argument 'self' must be strided, not a Tensor of layout ",
          layout_name(tensor));
    if (tensor.device().backend != Backend::cuda)
      share_storage(*tensor.storage(), "Tensor.share_memory_()");
    return Py_NewRef(self);
  });
}
PyObject* get_device(const Tensor& self) {
  const Device device = data_device(self);
  return PyLong_FromLong(device.is_cpu() || device.is_meta() ? -1 : device.index);
}
PyObject* bump_version(const Tensor& self) {
  self.bump_version();
  Py_RETURN_NONE;
}
PyObject* retain_grad(const Tensor& self) {
  autograd::retain_grad(self);
  Py_RETURN_NONE;
}

/// Whether the instance has attributes of its own; asking for __dict__ would create one.
PyObject* has_attributes(PyObject* self, PyObject*) {
  PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict;
  return PyBool_FromLong(dict && PyDict_GET_SIZE(dict) > 0);
}

/// Whether a tensor of so many dims lies channels-last without gaps; dims of one element may have
/// any stride.
bool is_channels_last(const Tensor& tensor, size_t rank) {
  const IntList sizes = tensor.sizes();
  if (sizes.size() != rank) return false;
  const Shape dense = channels_last_strides(sizes);
  for (size_t dim = 0; dim < rank; ++dim)
    if (sizes[dim] != 1 && tensor.strides()[dim] != dense[dim]) return false;
  return true;
}

bool is_contiguous(const Tensor& self, PyObject* format) {
  if (!given(format)) return self.is_contiguous();
  check(is_memory_format(format), ErrorKind::type,
        "is_contiguous(): memory_format must be a flambeau.memory_format, not ",
        describe_type(format));
  const std::string_view name = memory_format_name(format);
  if (name == "channels_last") return is_channels_last(self, 4);
  return name == "channels_last_3d" ? is_channels_last(self, 5) : self.is_contiguous();
}

PyRef requires_grad_(PyObject* self, bool requires_grad) {
  autograd::set_requires_grad(unwrap(self), requires_grad);
  return PyRef::borrow(self);
}

PyRef resize(PyObject* self, IntList sizes) {
  const Tensor& tensor = unwrap(self);
  check(!autograd::requires_grad(tensor), ErrorKind::runtime,
        "Tensor.resize_(): the tensor requires grad; resize tensor.detach() or tensor.data");
  if (!equal(tensor.sizes(), sizes)) {
    resize_data(tensor, sizes, "Tensor.resize_");
    tensor.bump_version();
  }
  return PyRef::borrow(self);
}

constexpr Parameter dim_parameters[] = {{"self", Kind::tensor},
                                        {"dim", Kind::integer, "None", kNone}};
constexpr Parameter dim_of_any_parameters[] = {{"self", Kind::tensor, {}, kAnyLayout},
                                               {"dim", Kind::integer, "None", kNone}};
constexpr Parameter size_parameters[] = {{"self", Kind::tensor},
                                         {"size", Kind::integers, {}, kSpread}};
constexpr Parameter format_parameters[] = {{"self", Kind::tensor},
                                           {"memory_format", Kind::object, "None"}};
constexpr Parameter requires_grad_parameters[] = {{"self", Kind::tensor, {}, kAnyLayout},
                                                  {"requires_grad", Kind::boolean, {"True", true}}};

}  // namespace

PyMethodDef tensor_methods[] = {
    define_method<"size", size, dim_of_any_parameters>(
        "size(dim=None)\n--\n\nThe shape as a Size, or the size of one dimension."),
    define_method<"stride", stride, dim_parameters>(
        "stride(dim=None)\n--\n\nElements to step over per dimension: a tuple, or one int."),
    {"dim", plain<"dim", dim, Layouts::any>, METH_NOARGS, "dim()\n--\n\nThe number of dimensions."},
    {"ndimension", plain<"ndimension", dim, Layouts::any>, METH_NOARGS,
     "ndimension()\n--\n\nThe number of dimensions."},
    {"numel", plain<"numel", numel, Layouts::any>, METH_NOARGS,
     "numel()\n--\n\nThe number of elements."},
    {"nelement", plain<"nelement", numel, Layouts::any>, METH_NOARGS,
     "nelement()\n--\n\nThe number of elements."},
    {"element_size", plain<"element_size", element_size, Layouts::any>, METH_NOARGS,
     "element_size()\n--\n\nBytes of one element."},
    define_method<"is_contiguous", is_contiguous, format_parameters>(
        "is_contiguous(memory_format=None)\n--\n\n"
        "Whether the elements lie densely in memory, in row-major order."),
    {"data_ptr", plain<"data_ptr", data_ptr>, METH_NOARGS,
     "data_ptr()\n--\n\nThe address of the first element; 0 when there is none."},
    {"storage_offset", plain<"storage_offset", storage_offset>, METH_NOARGS,
     "storage_offset()\n--\n\nElements between the storage's start and the first element."},
    {"untyped_storage", plain<"untyped_storage", untyped_storage>, METH_NOARGS,
     "untyped_storage()\n--\n\nThe memory behind the tensor, shared with its views."},
    {"is_shared", plain<"is_shared", is_shared>, METH_NOARGS,
     "is_shared()\n--\n\nWhether its memory is shared with other processes when it is sent to "
     "them; always True on CUDA."},
    {"share_memory_", share_memory, METH_NOARGS,
     "share_memory_()\n--\n\n"
     "Moves its memory to where other processes can map it, with that of all its views; returns "
     "self.\n\nDoes nothing on CUDA, or if it is shared already. A NumPy array that the tensor was "
     "made from keeps the old memory.\n\nRaises:\n    RuntimeError: while an array, a memoryview "
     "or a DLPack capsule of it exists."},
    define_method<"requires_grad_", requires_grad_, requires_grad_parameters>(
        "requires_grad_(requires_grad=True)\n--\n\nStarts or stops recording; returns self."),
    define_method<"resize_", resize, size_parameters>(
        "resize_(*size)\n--\n\n"
        "Gives it another shape, dense, on the same storage, which grows where it is too small;\n"
        "the new elements are not set. Returns self.\n\nRaises:\n    RuntimeError: if it "
        "requires grad, or its memory cannot move."),
    {"detach", plain<"detach", detach>, METH_NOARGS,
     "detach()\n--\n\nA view of the same elements without history."},
    {"retain_grad", plain<"retain_grad", retain_grad, Layouts::any>, METH_NOARGS,
     "retain_grad()\n--\n\nMakes backward() keep the grad of a tensor that is not a leaf."},
    {"is_floating_point", plain<"is_floating_point", floating, Layouts::any>, METH_NOARGS,
     "is_floating_point()\n--\n\nWhether the elements are real floats."},
    {"is_complex", plain<"is_complex", is_complex_method, Layouts::any>, METH_NOARGS,
     "is_complex()\n--\n\nWhether the elements are complex."},
    {"is_signed", plain<"is_signed", is_signed, Layouts::any>, METH_NOARGS,
     "is_signed()\n--\n\nWhether the elements can be negative."},
    {"is_inference", plain<"is_inference", is_inference, Layouts::any>, METH_NOARGS,
     "is_inference()\n--\n\nWhether it was made in inference mode."},
    {"get_device", plain<"get_device", get_device, Layouts::any>, METH_NOARGS,
     "get_device()\n--\n\nThe index of its CUDA device; -1 on the CPU."},
    {"_has_attributes", has_attributes, METH_NOARGS,
     "_has_attributes()\n--\n\nWhether the instance has attributes of its own."},
    {"_bump_version", plain<"_bump_version", bump_version, Layouts::any>, METH_NOARGS,
     "_bump_version()\n--\n\nNotes a write that was made behind the library's back."},
    kNoMore};

}  // namespace flambeau::python
