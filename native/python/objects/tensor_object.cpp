#include "python/objects/tensor_object.h"

#include <structmember.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "autograd/graph/history.h"
#include "autograd/graph/ownership.h"
#include "core/tensor/alias.h"
#include "python/autograd/mirror.h"
#include "python/base/errors.h"
#include "python/base/generated.h"
#include "python/base/gil.h"
#include "python/calls/arguments.h"
#include "python/interop/interop.h"
#include "python/objects/construct.h"
#include "python/objects/indexing.h"
#include "python/objects/tensor_members.h"

namespace flambeau::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* sparse_type = nullptr;

namespace detail {

FreeList free_tensors;

PyObject* wrap_slow(Tensor&& tensor) {
  TensorImpl* impl = tensor.impl();
  if (!impl) Py_RETURN_NONE;
  if (auto* existing = static_cast<PyObject*>(impl->python_object)) {
    if (impl->owns_python_object) {
      // The reference that the implementation held becomes the caller's; the wrapper owns again.
      impl->owns_python_object = false;
      new (&reinterpret_cast<TensorObject*>(existing)->tensor) Tensor(std::move(tensor));
      return existing;
    }
    // A subclass instance that waits in the interpreter's trashcan is dead already.
    if (Py_REFCNT(existing) > 0) return Py_NewRef(existing);
    impl->python_object = nullptr;
  }
  PyTypeObject* const type = is_sparse(tensor) ? sparse_type : tensor_type;
  PyObject* object = wrap_as(type, std::move(tensor));
  if (impl->autograd) track_if_leading(object);
  return object;
}

void track_if_leading(PyObject* object) {
  if (autograd::leads_on(*unwrap(object).impl())) track(object);
}

void track_written(PyObject* object) {
  track_if_leading(object);
  const Tensor base = autograd::view_base(unwrap(object));
  if (base.defined() && base.impl()->python_object) {
    track_if_leading(static_cast<PyObject*>(base.impl()->python_object));
  }
}

}  // namespace detail

void set_sparse_type(PyObject* type) {
  check(!sparse_type, ErrorKind::runtime, "the type of sparse tensors is known already");
  check(PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type),
        ErrorKind::type, "the type of sparse tensors must be a subclass of Tensor, not ",
        describe_type(type));
  sparse_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
}

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  const bool holds_sparse = tensor.defined() && is_sparse(tensor);
  const bool is_for_sparse = type && sparse_type && PyType_IsSubtype(type, sparse_type);
  check(holds_sparse == is_for_sparse, ErrorKind::type, "a tensor of layout ",
        holds_sparse ? layout_name(tensor) : "strided", " cannot be an instance of ",
        type ? type->tp_name : "a type that is not there yet");
  PyObject* object;
  if (type == tensor_type) {
    object = reinterpret_cast<PyObject*>(PyObject_GC_New(TensorObject, type));
  } else {
    object = type->tp_alloc(type, 0);
  }
  if (!object) {
    PyErr_Clear();
    throw OutOfMemory(static_cast<size_t>(type->tp_basicsize));
  }
  auto* self = reinterpret_cast<TensorObject*>(object);
  self->dict = self->weak_references = nullptr;
  if (tensor.defined()) tensor.impl()->python_object = object;
  new (&self->tensor) Tensor(std::move(tensor));
  return object;
}

Tensor alias(const Tensor& tensor, bool keep_version) {
  return alias_of(tensor, keep_version ? tensor.storage() : Storage::alias(tensor.storage()));
}

namespace {

TensorObject* cast(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }

/// The implementation dies and owns its wrapper: the wrapper goes too, unless Python has it.
void release_wrapper(void* object) noexcept {
  if (!interpreter_alive()) return;
  const AcquireGil gil;
  new (&cast(static_cast<PyObject*>(object))->tensor) Tensor();
  Py_DECREF(static_cast<PyObject*>(object));
}

/// Keeps a wrapper with state alive for an implementation that C++ still holds. Returns whether it
/// did: then the object has one reference again.
bool hand_over_to_implementation(TensorObject* self) {
  TensorImpl* impl = self->tensor.impl();
  if (!impl || impl->python_object != self || impl->use_count() <= 1 || !interpreter_alive()) {
    return false;
  }
  const bool has_state = self->dict || self->weak_references || Py_TYPE(self) != tensor_type;
  // Only a wrapper lets the collector find an implementation that refers to itself.
  if (!has_state && !autograd::may_own_itself(*impl)) return false;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), 1);
  track(reinterpret_cast<PyObject*>(self));
  impl->owns_python_object = true;
  // From here on the `tensor` field borrows. Should another thread have dropped the other reference
  // meanwhile, this destroys both, as it must.
  impl->release();
  return true;
}

void dealloc(PyObject* object) {
  TensorObject* self = cast(object);
  PyTypeObject* type = Py_TYPE(object);
  if (hand_over_to_implementation(self)) return;
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  if (TensorImpl* impl = self->tensor.impl(); impl && impl->python_object == object) {
    impl->python_object = nullptr;
  }
  self->tensor.~Tensor();
  if (self->dict) Py_CLEAR(self->dict);
  if (type == tensor_type && detail::free_tensors.count < detail::FreeList::kCapacity) {
    detail::free_tensors.objects[detail::free_tensors.count++] = object;
  } else {
    type->tp_free(object);
  }
  Py_DECREF(type);
}

/// What the wrapper alone leads to; nothing while other threads may change it.
std::optional<autograd::Ownership> ownership(const TensorObject* self) {
  const TensorImpl* impl = self->tensor.impl();
  if (!impl || detail::released_threads > 0) return std::nullopt;
  autograd::Ownership own(*impl, impl->owns_python_object ? 0 : 1);
  if (!own.holds()) return std::nullopt;
  return own;
}

/// Several implementations that own their wrappers may own each other: then all of them find the
/// same objects, which the wrapper at the lowest address tells.
bool tells(const TensorImpl& self, const autograd::Ownership& own) {
  if (!self.owns_python_object) return true;
  return std::none_of(own.wrapped().begin(), own.wrapped().end(), [&](const TensorImpl* other) {
    return other->python_object < self.python_object && autograd::Ownership(*other, 0).holds();
  });
}

/// Attributes of a tensor that C++ also holds are not garbage even when only it refers to them, so
/// they are not reported: C++ may give it to Python again.
int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  TensorObject* self = cast(object);
  const TensorImpl* impl = self->tensor.impl();
  if (impl && is_mirrored()) {
    if (!impl->owns_python_object) Py_VISIT(mirror_image(*impl));
    return 0;
  }
  const auto own = ownership(self);
  if (!impl || impl->owns_python_object || own) Py_VISIT(self->dict);
  if (!own || !tells(*impl, *own)) return 0;
  for (void* found : own->objects()) Py_VISIT(static_cast<PyObject*>(found));
  return 0;
}

int clear(PyObject* object) {
  TensorObject* self = cast(object);
  if (self->tensor.defined() && is_mirrored()) return 0;
  const bool owns = ownership(self).has_value();
  const Ref<TensorImpl> impl(self->tensor.impl());  // which its own graph may hold
  if (owns) delete std::exchange(impl->autograd, nullptr);
  if (!impl || impl->owns_python_object || owns) Py_CLEAR(self->dict);
  return 0;
}

/// An object with a __dict__ can be part of a cycle.
void track_if_needed(PyObject* object) {
  if (cast(object)->dict) track(object);
}

int set_attribute(PyObject* object, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(object, name, value);
  track_if_needed(object);
  // A view holds its base: as an attribute of that, it closes a cycle.
  if (value && is_exact_tensor(value) && unwrap(value).impl()->autograd) track(value);
  return status;
}
PyObject* get_dict(PyObject* object, void* context) {
  PyObject* dict = PyObject_GenericGetDict(object, context);
  track_if_needed(object);
  return dict;
}
int set_dict(PyObject* object, PyObject* value, void* context) {
  const int status = PyObject_GenericSetDict(object, value, context);
  track_if_needed(object);
  return status;
}

/// What `id` is: programs keep tensors' places under either.
Py_hash_t hash(PyObject* object) { return reinterpret_cast<Py_hash_t>(object); }

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  if (const binaryfunc function = generated_comparisons[operation]) return function(a, b);
  Py_RETURN_NOTIMPLEMENTED;
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

template <class Item>
void append_table(std::vector<Item>& all, const Item* table) {
  for (; table->name; ++table) all.push_back(*table);
}
void append_table(std::vector<PyMethodDef>& all, const PyMethodDef* table) {
  for (; table->ml_name; ++table) all.push_back(*table);
}

}  // namespace

void add_tensor_type(PyObject* module) {
  // The type's descriptors point into these tables.
  static std::vector<PyMethodDef> methods;
  static std::vector<PyGetSetDef> properties;
  // The first definition of a name wins: what is declared goes before what is written by hand.
  for (const PyMethodDef* table :
       {generated_methods, tensor_methods, conversion_methods, conversion_to_methods, numpy_methods,
        dlpack_methods, construction_methods}) {
    append_table(methods, table);
  }
  methods.push_back({nullptr, nullptr, 0, nullptr});
  append_table(properties, tensor_properties);
  // What is asked of `__torch_function__` names the property.
  for (PyGetSetDef& property : properties) property.closure = const_cast<char*>(property.name);
  properties.push_back({"__dict__", get_dict, set_dict, nullptr, nullptr});
  properties.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});

  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(construct_tensor)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
      {Py_tp_members, members},
      {Py_tp_methods, methods.data()},
      {Py_tp_getset, properties.data()},
      {Py_mp_subscript, reinterpret_cast<void*>(get_item)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(set_item)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
      {Py_tp_doc, const_cast<char*>("A multi-dimensional array of elements of one type."
                                    "\n\nExample:\n"
                                    "    >>> x = flambeau.tensor([[1., 2.], [3., 4.]])\n"
                                    "    >>> x.T @ x\n"
                                    "    tensor([[10., 14.],\n"
                                    "            [14., 20.]])")},
  };
  for (const PyType_Slot* table : {generated_slots, conversion_slots}) {
    for (; table->slot; ++table) slots.push_back(*table);
  }
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"flambeau.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  checked(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)));
  release_python_object = release_wrapper;
}

}  // namespace flambeau::python
