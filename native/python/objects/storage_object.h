#pragma once

#include <Python.h>

#include "core/memory/storage.h"

namespace flambeau::python {

/// The flambeau.UntypedStorage of a storage: the same object while one is alive, so that pickle and
/// deepcopy see that two views share memory. New reference.
PyObject* wrap_storage(const Ref<Storage>& storage);
/// Error(type) when the object is something else.
const Ref<Storage>& unwrap_storage(PyObject* object);
void add_storage_type(PyObject* module);

}  // namespace flambeau::python
