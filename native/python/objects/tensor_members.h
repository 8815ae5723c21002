#pragma once

#include <Python.h>

/// Tables of flambeau.Tensor's members that are not operators, put together by add_tensor_type().
namespace flambeau::python {

extern PyGetSetDef tensor_properties[];      ///< shape, dtype, grad, ...
extern PyMethodDef tensor_methods[];         ///< size(), stride(), is_contiguous(), ...
extern PyMethodDef conversion_methods[];     ///< item(), tolist(), __complex__()
extern PyMethodDef conversion_to_methods[];  ///< to(), cpu(), float()
extern PyType_Slot conversion_slots[];       ///< len(), bool(), int(), float(), iter()

}  // namespace flambeau::python
