#pragma once

#include <Python.h>

#include <vector>

#include "autograd/graph/hooks.h"
#include "autograd/graph/node.h"
#include "python/autograd/autograd_bindings.h"
#include "python/base/errors.h"
#include "python/base/gil.h"
#include "python/base/held_object.h"
#include "python/calls/arguments.h"
#include "python/objects/tensor_object.h"

/// Shared by the files that make up the Python side of autograd.
namespace flambeau::python {

/// Adds Node (node_object.cpp), RemovableHandle (hook_handle.cpp) and FunctionCtx
/// (function_context.cpp).
void add_node_type(PyObject* module);
void add_handle_type(PyObject* module);
void add_context_type(PyObject* module);
/// The machinery of autograd.Function (autograd_function.cpp).
void bind_functions(PyObject* module);

/// A tuple of tensors; None where undefined.
PyRef to_tuple(const autograd::Gradients& gradients);
/// From a tensor, None, or a sequence of them. `what` names the culprit in errors.
autograd::Gradients to_gradients(PyObject* value, const char* what);
/// The same, where None is no tensor: for lists of roots and inputs.
std::vector<Tensor> to_tensors(PyObject* value, const char* what);
/// Error(type) that names the method that was to get a hook.
void check_callable(PyObject* hook, const char* method);

/// A RemovableHandle of a hook among these.
PyObject* make_handle(const std::shared_ptr<autograd::Node::Extras>& extras, uint64_t id);

/// (node, which of its outputs): what next_functions holds.
PyRef edge_tuple(const autograd::Edge& edge);

/// The node of a Python object; null for objects that are no nodes.
const autograd::Node* node_behind(PyObject* object);
/// Takes the node, which the collector has found to be garbage, from its Python object.
void drop_node_object(const autograd::Node& node);

/// The Python object behind the node of an autograd.Function, null for other nodes.
PyObject* function_context(const autograd::Node& node);

}  // namespace flambeau::python
