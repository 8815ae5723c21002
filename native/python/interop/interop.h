#pragma once

#include <Python.h>

#include <optional>

#include "core/memory/alignment.h"
#include "core/tensor/tensor.h"

/// Memory shared with other libraries, without their headers: the buffer protocol (NumPy, array,
/// bytes) and DLPack.
namespace flambeau::python {

int get_buffer(PyObject* self, Py_buffer* view, int flags);
/// All bytes of a storage.
int get_storage_buffer(PyObject* self, const Ref<Storage>& storage, Py_buffer* view, int flags);
/// Ends a view of either.
void release_buffer(PyObject* self, Py_buffer* view);

/// What a tensor is made of when another object's memory becomes one.
enum class Sharing { share, copy };

/// A tensor over (or a copy of) the memory of an object with the buffer protocol. `op` names the
/// caller in errors; Error(type) for element types that have no dtype here.
Tensor from_buffer(PyObject* object, Sharing sharing, const char* op);

extern PyMethodDef numpy_methods[];     ///< of the type: numpy, __array__
extern PyMethodDef buffer_functions[];  ///< of the module: from_numpy, frombuffer
extern PyMethodDef file_functions[];    ///< of the module: storages from files
extern PyMethodDef dlpack_methods[];    ///< of the type: __dlpack__, __dlpack_device__
extern PyMethodDef dlpack_functions[];  ///< of the module: from_dlpack, to_dlpack

}  // namespace flambeau::python
