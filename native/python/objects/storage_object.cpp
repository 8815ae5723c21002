#include "python/objects/storage_object.h"

#include <cstring>
#include <unordered_map>

#include "core/memory/shared_storage.h"
#include "core/tensor/tensor.h"
#include "python/base/names.h"
#include "python/base/type_object.h"
#include "python/calls/arguments.h"
#include "python/calls/define.h"
#include "python/calls/results.h"
#include "python/interop/interop.h"

namespace flambeau::python {

namespace {

struct StorageObject {
  PyObject_HEAD Ref<Storage> storage;
};

PyTypeObject* storage_type = nullptr;

/// Wrappers that are alive. The GIL protects it.
std::unordered_map<const Storage*, PyObject*>& live_wrappers() {
  static auto* wrappers = new std::unordered_map<const Storage*, PyObject*>;  // outlives all
  return *wrappers;
}

const Ref<Storage>& storage_of(PyObject* self) {
  return reinterpret_cast<StorageObject*>(self)->storage;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  live_wrappers().erase(storage_of(self).get());
  reinterpret_cast<StorageObject*>(self)->storage.~Ref<Storage>();
  type->tp_free(self);
  Py_DECREF(type);
}

/// All of a storage as a 1-d tensor of bytes.
Tensor bytes_tensor(const Ref<Storage>& storage) {
  Ref<TensorImpl> impl = TensorImpl::make();
  impl->storage = storage;
  impl->sizes = Shape{static_cast<int64_t>(storage->bytes())};
  impl->strides = Shape{1};
  impl->dtype = DType::uint8;
  impl->refresh_geometry();
  return Tensor(std::move(impl));
}

/// The bytes where the CPU can read them.
Tensor bytes_on_cpu(const Ref<Storage>& storage) {
  const Tensor bytes = bytes_tensor(storage);
  if (bytes.device().is_cpu()) return bytes;
  const Tensor copy = empty(bytes.sizes(), DType::uint8, Device{});
  if (!bytes.device().is_meta()) copy_data(copy, bytes);
  return copy;
}

int get_buffer_of_storage(PyObject* self, Py_buffer* view, int flags) {
  return get_storage_buffer(self, storage_of(self), view, flags);
}

PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(storage_of(self)->bytes()); }
Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(storage_of(self)->bytes()); }
PyObject* data_ptr(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(storage_of(self)->data());
}
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return to_python(storage_of(self)->device()); });
}
PyObject* clone(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref<Storage>& storage = storage_of(self);
    const Ref<Storage> copy = Storage::allocate(storage->bytes(), storage->device());
    if (storage->bytes() > 0 && !storage->device().is_meta()) {
      copy_data(bytes_tensor(copy), bytes_tensor(storage));
    }
    return wrap_storage(copy);
  });
}
/// view(dtype, offset, sizes, strides): a tensor on this storage.
PyObject* view(PyObject* self, PyObject* args) {
  PyObject *dtype, *sizes, *strides;
  long long offset;
  if (!PyArg_ParseTuple(args, "OLOO:_view", &dtype, &offset, &sizes, &strides)) return nullptr;
  return guarded([&] {
    check(accepts(Parameter{"", Kind::integers}, sizes) &&
              accepts(Parameter{"", Kind::integers}, strides),
          ErrorKind::type, "UntypedStorage._view(): sizes and strides must be sequences of ints");
    Ref<TensorImpl> whole = TensorImpl::make();
    whole->storage = storage_of(self);
    whole->dtype = to_dtype(dtype);
    check(is_aligned(whole->storage->data(), whole->dtype), ErrorKind::value,
          "UntypedStorage._view(): the memory begins at an address that is no multiple of the "
          "element size of ",
          whole->dtype);
    whole->sizes = Shape{static_cast<int64_t>(whole->storage->bytes() / size_of(whole->dtype))};
    whole->strides = Shape{1};
    whole->refresh_geometry();
    return to_python(make_view(Tensor(std::move(whole)), IntListArgument(sizes),
                               IntListArgument(strides), offset));
  });
}
/// (bytes, device): what __reduce__ hands to _restore.
PyObject* reduce(PyObject* self, PyObject* protocol) {
  return guarded([&]() -> PyObject* {
    const Ref<Storage>& storage = storage_of(self);
    PyRef bytes;
    const Tensor local = bytes_on_cpu(storage);
    const long version = PyLong_AsLong(protocol);
    if (version == -1 && PyErr_Occurred()) throw_python_error();
    if (version >= 5) {
      // Written without a copy, and out of band where the pickler asks for that.
      const PyRef owner =
          local.storage() == storage ? PyRef::borrow(self) : checked(wrap_storage(local.storage()));
      bytes = checked(PyPickleBuffer_FromObject(owner.get()));
    } else {
      bytes = checked(
          PyBytes_FromStringAndSize(static_cast<const char*>(local.raw_data()), local.numel()));
    }
    const PyRef restore = checked(
        PyObject_GetAttr(reinterpret_cast<PyObject*>(storage_type), interned<"_restore">()));
    return Py_BuildValue("(O(ON))", restore.get(), bytes.get(), to_python(storage->device()));
  });
}
/// _restore(buffer, device): takes over a buffer that is writable and aligned, copies another.
PyRef restore(PyObject* buffer, Device device) {
  Py_buffer probe;
  checked(PyObject_GetBuffer(buffer, &probe, PyBUF_SIMPLE));
  // Whatever is saved in it finds its place in a block of the allocator.
  const bool takes = !probe.readonly && is_aligned(probe.buf, DType::complex128);
  const auto size = static_cast<size_t>(probe.len);
  PyBuffer_Release(&probe);
  if (device.is_meta()) return PyRef(wrap_storage(Storage::allocate(size, device)));
  Tensor bytes = from_buffer(buffer, takes ? Sharing::share : Sharing::copy, "unpickle");
  if (!device.is_cpu()) {
    const Tensor moved = empty(bytes.sizes(), DType::uint8, device);
    copy_data(moved, bytes);
    bytes = moved;
  }
  return PyRef(wrap_storage(bytes.storage()));
}

/// resize_(nbytes)
PyObject* resize(PyObject* self, PyObject* size) {
  return guarded([&] {
    check(PyLong_Check(size), ErrorKind::type, "UntypedStorage.resize_(): expected an int, got ",
          describe_type(size));
    const Ref<Storage>& storage = storage_of(self);
    const Py_ssize_t bytes = PyLong_AsSsize_t(size);
    if (bytes == -1 && PyErr_Occurred()) throw_python_error();
    // Tensors would look past the end of less.
    check(bytes >= static_cast<Py_ssize_t>(storage->bytes()), ErrorKind::runtime,
          "UntypedStorage.resize_(): memory of ", storage->bytes(), " bytes cannot shrink to ",
          bytes, ": it is freed with the last tensor on it; copy what is needed into another");
    storage->grow(static_cast<size_t>(bytes), "UntypedStorage.resize_");
    return Py_NewRef(self);
  });
}

/// How many hold the storage: this object, tensors, aliases.
PyObject* holders(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLong(storage_of(self)->use_count());
}
PyObject* is_shared(PyObject* self, PyObject*) {
  return PyBool_FromLong(SharedStorage::holds(*storage_of(self)));
}
PyObject* share_memory(PyObject* self, PyObject*) {
  return guarded([&] {
    share_storage(*storage_of(self), "UntypedStorage.share_memory_()");
    return Py_NewRef(self);
  });
}
PyRef new_shared(int64_t bytes) {
  check(bytes >= 0, ErrorKind::value, "UntypedStorage._new_shared(): a negative size, ", bytes);
  return PyRef(wrap_storage(SharedStorage::allocate(static_cast<size_t>(bytes), "_new_shared()")));
}
/// (storage, descriptor, offset, nbytes): what another process opens. The storage is this one,
/// moved to shared memory if need be, or a copy while its address must stay.
PyObject* sent(PyObject* self, PyObject*) {
  return guarded([&] {
    constexpr const char* op = "sending a tensor to another process";
    Ref<Storage> storage = storage_of(self);
    if (SharedStorage::holds(*storage) || SharedStorage::can_move(*storage)) {
      SharedStorage::move(*storage, op);
    } else {
      storage = SharedStorage::copy(*storage, op);
    }
    const SharedStorage::Place place = SharedStorage::place(*storage);
    return Py_BuildValue("(Nikk)", wrap_storage(storage), place.descriptor, place.offset,
                         place.bytes);
  });
}
PyRef received(int64_t descriptor, int64_t offset, int64_t bytes) {
  check(descriptor == static_cast<int>(descriptor) && offset >= 0 && bytes >= 0, ErrorKind::value,
        "UntypedStorage._received(): no memory of another process: ", descriptor, ", ", offset,
        ", ", bytes);
  return PyRef(wrap_storage(SharedStorage::open(
      {static_cast<int>(descriptor), {}, static_cast<size_t>(offset), static_cast<size_t>(bytes)},
      "receiving a tensor from another process")));
}

constexpr Parameter restore_parameters[] = {{"buffer", Kind::object}, {"device", Kind::device}};
constexpr Parameter size_parameters[] = {{"nbytes", Kind::integer}};
constexpr Parameter received_parameters[] = {
    {"descriptor", Kind::integer}, {"offset", Kind::integer}, {"nbytes", Kind::integer}};

PyObject* repr(PyObject* self) {
  return guarded([&] {
    return PyUnicode_FromFormat("flambeau.UntypedStorage(nbytes=%zd, device='%s')", length(self),
                                to_string(storage_of(self)->device()).c_str());
  });
}

PyMethodDef methods[] = {
    {"nbytes", nbytes, METH_NOARGS, "nbytes()\n--\n\nBytes of the whole block."},
    {"size", nbytes, METH_NOARGS, "size()\n--\n\nBytes of the whole block."},
    {"data_ptr", data_ptr, METH_NOARGS, "data_ptr()\n--\n\nIts address."},
    {"clone", clone, METH_NOARGS, "clone()\n--\n\nA copy of the whole block."},
    {"resize_", resize, METH_O,
     "resize_(nbytes)\n--\n\n"
     "Grows the block under the tensors on it, keeping what it has; returns self."},
    {"is_shared", is_shared, METH_NOARGS,
     "is_shared()\n--\n\nWhether other processes can map it; see share_memory_()."},
    {"share_memory_", share_memory, METH_NOARGS,
     "share_memory_()\n--\n\nMoves it to where other processes can map it; returns self."},
    define_static<"_new_shared", new_shared, size_parameters>(
        "_new_shared(nbytes)\n--\n\nA new block that other processes can map, full of zeros."),
    {"_holders", holders, METH_NOARGS,
     "_holders()\n--\n\nHow many references the memory has, those of C++ among them."},
    {"_sent", sent, METH_NOARGS,
     "_sent()\n--\n\n"
     "Itself, and where other processes find the memory: descriptor, offset, bytes."},
    define_static<"_received", received, received_parameters>(
        "_received(descriptor, offset, nbytes)\n--\n\n"
        "The storage that another process has sent: the same one while it is alive here."),
    {"__deepcopy__", clone, METH_O, nullptr},
    {"_view", view, METH_VARARGS,
     "_view(dtype, offset, sizes, strides)\n--\n\nA tensor on this memory."},
    define_static<"_restore", restore, restore_parameters>(
        "_restore(buffer, device)\n--\n\n"
        "A storage with the contents of a buffer, which it takes over where it can."),
    {"__reduce_ex__", reduce, METH_O, nullptr},
    kNoMore};
PyGetSetDef properties[] = {{"device", get_device, nullptr, "Where the memory is.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer_of_storage)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {Py_tp_doc,
     const_cast<char*>(
         "The block of memory behind a tensor and its views."
         "\n\nExample:\n"
         "    >>> x = flambeau.zeros(2, 3)\n"
         "    >>> block = x.untyped_storage()\n"
         "    >>> block.nbytes(), x[1].untyped_storage().data_ptr() == block.data_ptr()\n"
         "    (24, True)")},
    {0, nullptr}};
PyType_Spec spec = {"flambeau.UntypedStorage", sizeof(StorageObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyObject* wrap_storage(const Ref<Storage>& storage) {
  PyObject*& existing = live_wrappers()[storage.get()];
  if (existing) return Py_NewRef(existing);
  PyObject* object = storage_type->tp_alloc(storage_type, 0);
  if (!object) {
    live_wrappers().erase(storage.get());
    throw_python_error();
  }
  new (&reinterpret_cast<StorageObject*>(object)->storage) Ref<Storage>(storage);
  return existing = object;
}

void share_storage(Storage& storage, const char* op) {
  check(storage.device().is_cpu(), ErrorKind::runtime, op, ": the memory is on ", storage.device(),
        "; only that of the CPU can be shared");
  SharedStorage::move(storage, op);
}

const Ref<Storage>& unwrap_storage(PyObject* object) {
  check(Py_TYPE(object) == storage_type, ErrorKind::type, "expected an UntypedStorage, got ",
        describe_type(object));
  return storage_of(object);
}

void add_storage_type(PyObject* module) { storage_type = add_type(module, spec); }

}  // namespace flambeau::python
