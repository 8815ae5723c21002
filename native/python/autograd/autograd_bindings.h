#pragma once

#include <Python.h>

#include "autograd/graph/node.h"

/// What autograd_bindings.cpp gives the other files.
namespace flambeau::python {

/// Adds what flambeau.autograd is built on to `module`.
void bind_autograd(PyObject* module);
/// The Python object of a node (grad_fn), one at a time per node; None for an empty reference.
PyObject* wrap_node(const Ref<autograd::Node>& node);

}  // namespace flambeau::python
