#include "autograd/graph/history.h"
#include "autograd/graph/state.h"
#include "core/base/warning.h"
#include "core/tensor/sparse.h"
#include "ops/view.h"
#include "python/autograd/autograd_bindings.h"
#include "python/calls/arguments.h"
#include "python/calls/overrides.h"
#include "python/calls/results.h"
#include "python/objects/dtype_object.h"
#include "python/objects/layout_object.h"
#include "python/objects/tensor_members.h"

namespace flambeau::python {

namespace {

/// What those who are asked make of an access; null where nobody is. `name` is the property's.
template <Layouts layouts, class... Values>
PyRef overridden_access(const char* accessor, const void* name, Values*... values) {
  PyObject* const args[] = {values...};
  if (!asks(args[0])) return {};
  return overridden_property(static_cast<const char*>(name), accessor, args, layouts);
}
/// A getter over the C++ tensor; C++ exceptions become Python's.
template <auto function, Layouts layouts = Layouts::strided>
PyObject* get(PyObject* self, void* name) {
  return guarded([&]() -> PyObject* {
    if (PyRef result = overridden_access<layouts>("__get__", name, self)) return result.release();
    return function(unwrap(self));
  });
}
/// A setter; deleting the attribute passes null.
template <auto function>
int set(PyObject* self, PyObject* value, void* name) {
  return guarded_number<int>([&] {
    if (value && overridden_access<Layouts::any>("__set__", name, self, value)) return 0;
    function(unwrap(self), value);
    return 0;
  });
}

PyObject* shape(const Tensor& self) { return to_size(self.sizes()); }
PyObject* dtype(const Tensor& self) { return Py_NewRef(dtype_object(self.dtype())); }
PyObject* device(const Tensor& self) { return to_python(data_device(self)); }
PyObject* layout(const Tensor& self) {
  if (!is_sparse(self)) return Py_NewRef(strided_layout());
  return Py_NewRef(sparse_layout(sparse_parts(self, "layout").layout));
}
PyObject* ndim(const Tensor& self) { return PyLong_FromLongLong(self.dim()); }
PyObject* itemsize(const Tensor& self) { return PyLong_FromSize_t(self.itemsize()); }
PyObject* nbytes(const Tensor& self) {
  return PyLong_FromLongLong(self.numel() * static_cast<int64_t>(self.itemsize()));
}
PyObject* is_cpu(const Tensor& self) { return PyBool_FromLong(data_device(self).is_cpu()); }
PyObject* is_cuda(const Tensor& self) {
  return PyBool_FromLong(data_device(self).backend == Backend::cuda);
}
PyObject* is_meta(const Tensor& self) { return PyBool_FromLong(data_device(self).is_meta()); }
template <SparseLayout wanted>
PyObject* has_layout(const Tensor& self) {
  return PyBool_FromLong(is_sparse(self) && sparse_parts(self, "layout").layout == wanted);
}
PyObject* version(const Tensor& self) { return PyLong_FromUnsignedLong(self.version()); }

PyObject* transposed(const Tensor& self) {
  if (self.dim() != 2) {
    warn("Tensor.T: of a tensor of shape ", self.sizes(), " all dims are reversed; if matrices ",
         "are meant, mT transposes them, and permute says which order is meant");
  }
  return to_python(ops::numpy_transpose(self));
}
PyObject* matrix_transposed(const Tensor& self) {
  check(self.dim() >= 2, ErrorKind::runtime, "Tensor.mT: needs at least 2 dimensions, got shape ",
        self.sizes());
  return to_python(ops::transpose(self, -2, -1));
}

PyObject* requires_grad(const Tensor& self) {
  return PyBool_FromLong(autograd::requires_grad(self));
}
void set_requires_grad(const Tensor& self, PyObject* value) {
  check(value && PyBool_Check(value), ErrorKind::type, "Tensor.requires_grad must be a bool, not ",
        value ? describe_type(value) : "deleted");
  autograd::set_requires_grad(self, value == Py_True);
}
PyObject* is_leaf(const Tensor& self) { return PyBool_FromLong(autograd::is_leaf(self)); }
PyObject* retains_grad(const Tensor& self) { return PyBool_FromLong(autograd::retains_grad(self)); }
PyObject* grad_fn(const Tensor& self) { return wrap_node(autograd::grad_fn(self)); }
PyObject* output_nr(const Tensor& self) {
  return PyLong_FromUnsignedLong(autograd::grad_fn(self) ? autograd::gradient_edge(self).index : 0);
}
PyObject* base(const Tensor& self) {
  return autograd::is_view(self) ? to_python(autograd::view_base(self)) : Py_NewRef(Py_None);
}

void set_grad(const Tensor& self, PyObject* value) {
  if (!given(value)) {
    if (autograd::grad(self).defined()) autograd::set_grad(self, Tensor());
    return;
  }
  check(is_tensor(value), ErrorKind::type, "Tensor.grad must be a Tensor or None, not ",
        describe_type(value));
  const Tensor& gradient = unwrap(value);
  check(!gradient.is_same(self), ErrorKind::runtime,
        "Tensor.grad: a tensor cannot be its own grad");
  check(equal(gradient.sizes(), self.sizes()), ErrorKind::runtime, "Tensor.grad: got shape ",
        gradient.sizes(), ", expected that of the tensor, ", self.sizes());
  if (const auto dtype = autograd::slot_dtype(self)) {
    check(gradient.dtype() == *dtype, ErrorKind::runtime, "Tensor.grad: got dtype ",
          gradient.dtype(),
          *dtype == self.dtype() ? ", expected that of the tensor, "
                                 : ", expected the grad_dtype of the tensor, ",
          *dtype);
  }
  check(data_device(gradient) == data_device(self), ErrorKind::runtime, "Tensor.grad: it is on ",
        data_device(gradient), ", the tensor is on ", data_device(self));
  autograd::set_grad(self, gradient);
}

/// What is read of a tensor that keeps no gradient is None, and most likely not what was wanted.
void warn_of_no_grad() {
  constexpr const char* text =
      "Tensor.grad of a tensor that is not a leaf is being read: backward() keeps no gradient of "
      "it. "
      "Call retain_grad() on it before backward(), or read the .grad of the leaf it came from";
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) throw_python_error();
}

/// A .grad may be given attributes that lead back to its tensor.
PyObject* get_grad(PyObject* self, void* name) {
  return guarded([&]() -> PyObject* {
    if (PyRef result = overridden_access<Layouts::any>("__get__", name, self)) {
      return result.release();
    }
    const Tensor& tensor = unwrap(self);
    Tensor grad = autograd::grad(tensor);
    if (grad.defined()) {
      track(self);
    } else if (!autograd::is_leaf(tensor) && !autograd::retains_grad(tensor)) {
      warn_of_no_grad();
    }
    return to_python(std::move(grad));
  });
}
int set_grad_and_track(PyObject* self, PyObject* value, void* context) {
  track(self);
  return set<set_grad>(self, value, context);
}
PyObject* grad_dtype(const Tensor& self) {
  const std::optional<DType> dtype = autograd::grad_dtype(self);
  return dtype ? Py_NewRef(dtype_object(*dtype)) : Py_NewRef(Py_None);
}
void set_grad_dtype(const Tensor& self, PyObject* value) {
  check(value && (value == Py_None || is_dtype(value)), ErrorKind::type,
        "Tensor.grad_dtype must be a dtype or None, not ",
        value ? describe_type(value) : "deleted");
  autograd::set_grad_dtype(self, value == Py_None ? std::nullopt : std::optional(to_dtype(value)));
}
PyObject* data(const Tensor& self) { return to_python(alias(self, false)); }
void set_data(const Tensor& self, PyObject* value) {
  check(value && is_tensor(value), ErrorKind::type, "Tensor.data must be a Tensor, not ",
        value ? describe_type(value) : "deleted");
  autograd::set_data(self, unwrap(value));
}

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", get<shape, Layouts::any>, nullptr, "The sizes of the dimensions: a flambeau.Size.",
     nullptr},
    {"dtype", get<dtype, Layouts::any>, nullptr, "The type of the elements.", nullptr},
    {"device", get<device, Layouts::any>, nullptr, "Where the elements live.", nullptr},
    {"layout", get<layout, Layouts::any>, nullptr,
     "flambeau.strided, sparse_coo, sparse_csr or sparse_csc.", nullptr},
    {"ndim", get<ndim, Layouts::any>, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", get<itemsize, Layouts::any>, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get<nbytes>, nullptr, "Bytes of all elements.", nullptr},
    {"is_cpu", get<is_cpu, Layouts::any>, nullptr, "Whether it lives on the CPU.", nullptr},
    {"is_cuda", get<is_cuda, Layouts::any>, nullptr, "Whether it lives on a CUDA device.", nullptr},
    {"is_meta", get<is_meta, Layouts::any>, nullptr, "Whether it has a shape but no elements.",
     nullptr},
    {"is_sparse", get<has_layout<SparseLayout::coo>, Layouts::any>, nullptr,
     "Whether it is of layout sparse_coo.", nullptr},
    {"is_sparse_csr", get<has_layout<SparseLayout::csr>, Layouts::any>, nullptr,
     "Whether it is of layout sparse_csr.", nullptr},
    {"_version", get<version, Layouts::any>, nullptr, "How often the storage was written in place.",
     nullptr},
    {"T", get<transposed>, nullptr, "A view with the dimensions in reverse order.", nullptr},
    {"mT", get<matrix_transposed>, nullptr, "A view with the last two dimensions swapped.",
     nullptr},
    {"requires_grad", get<requires_grad, Layouts::any>, set<set_requires_grad>,
     "Whether operations on it are recorded; settable on leaves.", nullptr},
    {"is_leaf", get<is_leaf, Layouts::any>, nullptr,
     "Whether it is not the result of a recorded operation.", nullptr},
    {"retains_grad", get<retains_grad, Layouts::any>, nullptr, "Whether a non-leaf keeps its grad.",
     nullptr},
    {"grad_fn", get<grad_fn, Layouts::any>, nullptr,
     "The recorded operation that made it, or None.", nullptr},
    {"output_nr", get<output_nr, Layouts::any>, nullptr, "Which output of grad_fn it is.", nullptr},
    {"_base", get<base, Layouts::any>, nullptr, "Of a view under autograd: the tensor it looks at.",
     nullptr},
    {"grad", get_grad, set_grad_and_track, "The gradient accumulated by backward(), or None.",
     nullptr},
    {"grad_dtype", get<grad_dtype, Layouts::any>, set<set_grad_dtype>,
     "The dtype that a leaf's gradients are converted to, the tensor's unless another is set; "
     "None: "
     "they keep theirs. To be set while .grad is None, or of that dtype.",
     nullptr},
    {"data", get<data, Layouts::any>, set<set_data>,
     "The same elements without history and with a version of their own.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace flambeau::python
