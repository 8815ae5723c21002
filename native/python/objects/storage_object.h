#pragma once

#include <Python.h>

#include "core/memory/storage.h"

namespace flambeau::python {

/// The flambeau.UntypedStorage of a storage: the same object while one is alive, so that pickle and
/// deepcopy see that two views share memory. New reference.
PyObject* wrap_storage(const Ref<Storage>& storage);
/// Error(type) when the object is something else.
const Ref<Storage>& unwrap_storage(PyObject* object);
/// Moves its memory to where other processes can map it. Error(runtime) that names `op`.
void share_storage(Storage& storage, const char* op);
void add_storage_type(PyObject* module);

}  // namespace flambeau::python
