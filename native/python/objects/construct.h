#pragma once

#include <Python.h>

#include <optional>

#include "core/tensor/tensor.h"

namespace flambeau::python {

/// A new tensor with the contents of a number, a nested sequence, an array, or a tensor. Without a
/// dtype: int64 for ints, bool for bools, the default dtype for floats, its complex counterpart for
/// complex numbers, an array's own. `op` names the caller in errors. Elements that are tensors or
/// arrays themselves are copied in.
Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, Device device, const char* op);

/// A new tensor on `device`, with the contents of a CPU tensor.
Tensor move_to(const Tensor& tensor, Device device);

/// Tensor.__new__: Tensor(), Tensor(data), Tensor(2, 3).
PyObject* construct_tensor(PyTypeObject* type, PyObject* args, PyObject* keywords);

extern PyMethodDef construction_methods[];    ///< of the type: _make_subclass
extern PyMethodDef construction_functions[];  ///< of the module: tensor, as_tensor

}  // namespace flambeau::python
