#include <cstring>

#include "autograd/graph/history.h"
#include "python/calls/parser.h"
#include "python/calls/results.h"
#include "python/objects/layout_object.h"
#include "python/objects/storage_object.h"
#include "python/objects/tensor_members.h"

namespace flambeau::python {

namespace {

using Method = PyObject* (*)(const Tensor& self);

/// A method without arguments.
template <auto function>
PyObject* plain(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* { return function(unwrap(self)); });
}

/// size(dim=None), stride(dim=None): everything, or one dimension.
constexpr Parameter dim_parameters[] = {{"self", Kind::tensor},
                                        {"dim", Kind::integer, "None", kNone}};
constexpr Overload dim_overloads[] = {{dim_parameters, kMethod, 0}};
constexpr Binding size_binding("size", dim_overloads);
constexpr Binding stride_binding("stride", dim_overloads);

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    if (count == 0 && !names) return to_size(tensor.sizes());
    int64_t dim;
    if (count == 1 && !names && small_int(args[0], dim)) {
      return PyLong_FromLongLong(tensor.size(dim));
    }
    Slots<2> slots;
    const Parsed in = parse(size_binding, self, args, count, names, slots);
    if (!given(in[1])) return to_size(tensor.sizes());
    return PyLong_FromLongLong(tensor.size(to_int(in[1])));
  });
}
PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    Slots<2> slots;
    const Parsed in = parse(stride_binding, self, args, count, names, slots);
    if (!given(in[1])) return to_tuple(tensor.strides());
    return PyLong_FromLongLong(tensor.stride(to_int(in[1])));
  });
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
PyObject* get_device(const Tensor& self) {
  const Device device = self.device();
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

/// Strides of a dense tensor whose channels (dimension 1) vary fastest.
bool is_channels_last(const Tensor& tensor) {
  if (tensor.dim() != 4) return false;
  constexpr int order[] = {1, 3, 2, 0};
  int64_t expected = 1;
  for (const int i : order) {
    const int64_t size = tensor.sizes()[static_cast<size_t>(i)];
    if (size == 1) continue;
    if (tensor.strides()[static_cast<size_t>(i)] != expected) return false;
    expected *= size;
  }
  return true;
}

PyObject* is_contiguous(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"memory_format", nullptr};
  PyObject* format = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:is_contiguous", const_cast<char**>(names),
                                   &format)) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const Tensor& tensor = unwrap(self);
    if (!given(format)) return PyBool_FromLong(tensor.is_contiguous());
    check(is_memory_format(format), ErrorKind::type,
          "is_contiguous(): memory_format must be a flambeau.memory_format, not ",
          describe_type(format));
    const bool channels_last = std::strcmp(memory_format_name(format), "channels_last") == 0;
    return PyBool_FromLong(channels_last ? is_channels_last(tensor) : tensor.is_contiguous());
  });
}

PyObject* requires_grad_(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"requires_grad", nullptr};
  PyObject* value = Py_True;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O!:requires_grad_", const_cast<char**>(names),
                                   &PyBool_Type, &value)) {
    return nullptr;
  }
  return guarded([&] {
    autograd::set_requires_grad(unwrap(self), value == Py_True);
    return Py_NewRef(self);
  });
}

template <class Function>
PyCFunction c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
constexpr int kTuple = METH_VARARGS | METH_KEYWORDS;

}  // namespace

PyMethodDef tensor_methods[] = {
    {"size", c_function(size), kFast,
     "size(dim=None)\n--\n\nThe shape as a Size, or the size of one dimension."},
    {"stride", c_function(stride), kFast,
     "stride(dim=None)\n--\n\nElements to step over per dimension: a tuple, or one int."},
    {"dim", plain<dim>, METH_NOARGS, "dim()\n--\n\nThe number of dimensions."},
    {"ndimension", plain<dim>, METH_NOARGS, "ndimension()\n--\n\nThe number of dimensions."},
    {"numel", plain<numel>, METH_NOARGS, "numel()\n--\n\nThe number of elements."},
    {"nelement", plain<numel>, METH_NOARGS, "nelement()\n--\n\nThe number of elements."},
    {"element_size", plain<element_size>, METH_NOARGS,
     "element_size()\n--\n\nBytes of one element."},
    {"is_contiguous", c_function(is_contiguous), kTuple,
     "is_contiguous(memory_format=None)\n--\n\n"
     "Whether the elements lie densely in memory, in row-major order."},
    {"data_ptr", plain<data_ptr>, METH_NOARGS,
     "data_ptr()\n--\n\nThe address of the first element; 0 when there is none."},
    {"storage_offset", plain<storage_offset>, METH_NOARGS,
     "storage_offset()\n--\n\nElements between the storage's start and the first element."},
    {"untyped_storage", plain<untyped_storage>, METH_NOARGS,
     "untyped_storage()\n--\n\nThe memory behind the tensor, shared with its views."},
    {"requires_grad_", c_function(requires_grad_), kTuple,
     "requires_grad_(requires_grad=True)\n--\n\nStarts or stops recording; returns self."},
    {"detach", plain<detach>, METH_NOARGS,
     "detach()\n--\n\nA view of the same elements without history."},
    {"retain_grad", plain<retain_grad>, METH_NOARGS,
     "retain_grad()\n--\n\nMakes backward() keep the grad of a tensor that is not a leaf."},
    {"is_floating_point", plain<floating>, METH_NOARGS,
     "is_floating_point()\n--\n\nWhether the elements are real floats."},
    {"is_complex", plain<is_complex_method>, METH_NOARGS,
     "is_complex()\n--\n\nWhether the elements are complex."},
    {"is_signed", plain<is_signed>, METH_NOARGS,
     "is_signed()\n--\n\nWhether the elements can be negative."},
    {"is_inference", plain<is_inference>, METH_NOARGS,
     "is_inference()\n--\n\nWhether it was made in inference mode."},
    {"get_device", plain<get_device>, METH_NOARGS,
     "get_device()\n--\n\nThe index of its CUDA device; -1 on the CPU."},
    {"_has_attributes", has_attributes, METH_NOARGS,
     "_has_attributes()\n--\n\nWhether the instance has attributes of its own."},
    {"_bump_version", plain<bump_version>, METH_NOARGS,
     "_bump_version()\n--\n\nNotes a write that was made behind the library's back."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace flambeau::python
