#pragma once

#include <pybind11/pybind11.h>

#include "autograd/hooks.h"
#include "autograd/node.h"
#include "python/arguments.h"
#include "python/autograd_bindings.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/held_object.h"
#include "python/tensor_object.h"

/// Shared by the files that make up the Python side of autograd.
namespace flambeau::python {

namespace py = pybind11;

/// Adds Node, RemovableHandle (node_object.cpp), FunctionCtx and the machinery of
/// autograd.Function (function_object.cpp).
void bind_nodes(py::module_& module);
void bind_functions(py::module_& module);

/// A tuple of tensors; None where undefined.
py::tuple to_tuple(const autograd::Gradients& gradients);
/// From a tensor, None, or a sequence of them. `what` names the culprit in errors.
autograd::Gradients to_gradients(py::handle value, const char* what);
/// The same, where None is no tensor: for lists of roots and inputs.
std::vector<Tensor> to_tensors(py::handle value, const char* what);

/// What register_hook and its kin return: removes the hook, by remove() or at the end of a with.
struct HookHandle {
  std::weak_ptr<autograd::Node::Extras> extras;
  uint64_t id;
  void remove() const {
    if (const auto alive = extras.lock()) autograd::remove_hook(*alive, id);
  }
};

/// The Python object behind the node of an autograd.Function, null for other nodes.
PyObject* function_context(const autograd::Node& node);

}  // namespace flambeau::python
