#pragma once

#include <Python.h>

#include <new>

#include "core/tensor/sparse.h"

namespace flambeau::python {

/// The Python object of a tensor. Exactly one exists per TensorImpl at a time.
///
/// Ownership. Normally the wrapper owns a reference to the implementation, and the implementation
/// knows the wrapper without owning it. When a wrapper that carries state (a __dict__, or a
/// subclass) loses its last Python reference while C++ still holds the implementation, ownership
/// flips: the implementation owns the wrapper (TensorImpl::owns_python_object), and the `tensor`
/// field borrows. wrap() flips it back.
///
/// Garbage collection. The type has the GC flag, but an exact Tensor is tracked only once it can be
/// part of a cycle: when it has a __dict__, a graph, a hook or a .grad that was looked at. It tells
/// of Python objects that only it leads to (autograd/graph/ownership.h). Memory is reused.
struct TensorObject {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weak_references;
};

/// flambeau.Tensor; valid after add_tensor_type().
FLAMBEAU_API extern PyTypeObject* tensor_type;

/// The subclass whose instances are the tensors of layout sparse_coo: no other object has such a
/// tensor. They are never exact Tensors, so that only code that looks at the type of an argument
/// takes them; nothing is asked of others.
FLAMBEAU_API extern PyTypeObject* sparse_type;
/// Makes `type` that subclass; once.
FLAMBEAU_API void set_sparse_type(PyObject* type);

inline bool is_exact_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
inline bool is_sparse_object(PyObject* object) {
  return FLAMBEAU_UNLIKELY(!is_exact_tensor(object)) && sparse_type &&
         PyObject_TypeCheck(object, sparse_type);
}
inline bool is_tensor(PyObject* object) {
  return FLAMBEAU_LIKELY(is_exact_tensor(object)) || PyObject_TypeCheck(object, tensor_type);
}
/// Unchecked: the caller knows that it is a tensor. Borrowed from the object.
inline const Tensor& unwrap(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}

/// The object of a tensor that Python handed to C++ and still holds.
inline PyObject* object_of(const Tensor& tensor) {
  return static_cast<PyObject*>(tensor.impl()->python_object);
}

namespace detail {
/// Released objects of the exact type, ready to be initialised again. The GIL protects it.
struct FreeList {
  static constexpr int kCapacity = 512;
  int count = 0;
  PyObject* objects[kCapacity];
};
FLAMBEAU_API extern FreeList free_tensors;
FLAMBEAU_API PyObject* wrap_slow(Tensor&& tensor);
FLAMBEAU_API void track_if_leading(PyObject* object);
FLAMBEAU_API void track_written(PyObject* object);
}  // namespace detail

/// From now on the garbage collector looks at the tensor.
inline void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}

/// The tensor that an operator wrote into: it may have a history now, as may its base.
inline void note_written(PyObject* tensor) {
  if (FLAMBEAU_UNLIKELY(unwrap(tensor).impl()->autograd != nullptr)) {
    detail::track_written(tensor);
  }
}
inline PyObject* written(PyObject* tensor) {
  note_written(tensor);
  return Py_NewRef(tensor);
}

/// The Python object of a tensor: the one that is alive, or a new one. None when undefined. Throws
/// std::bad_alloc.
inline PyObject* wrap(Tensor tensor) {
  TensorImpl* impl = tensor.impl();
  if (FLAMBEAU_LIKELY(impl != nullptr && impl->python_object == nullptr &&
                      detail::free_tensors.count > 0 && !is_sparse(tensor))) {
    PyObject* object = detail::free_tensors.objects[--detail::free_tensors.count];
    PyObject_Init(object, tensor_type);
    impl->python_object = object;
    new (&reinterpret_cast<TensorObject*>(object)->tensor) Tensor(std::move(tensor));
    if (FLAMBEAU_UNLIKELY(impl->autograd != nullptr)) detail::track_if_leading(object);
    return object;
  }
  return detail::wrap_slow(std::move(tensor));
}

/// A new instance of `type` (a subclass of Tensor, or Tensor) over an implementation that has no
/// wrapper yet.
FLAMBEAU_API PyObject* wrap_as(PyTypeObject* type, Tensor tensor);

/// A tensor of its own on the same storage: no history, version shared (`keep_version`) or fresh.
Tensor alias(const Tensor& tensor, bool keep_version);

/// Creates the type from the slots below, the generated ones and those of the other files here.
void add_tensor_type(PyObject* module);

}  // namespace flambeau::python
