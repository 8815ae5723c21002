#pragma once

#include <Python.h>

#include <vector>

#include "autograd/graph/node.h"
#include "autograd/graph/saved.h"

namespace flambeau::python {

/// What ctx knows of the node of its call.
struct ContextNode : autograd::Node {
  std::vector<autograd::SavedTensor> saved;
};

/// What `ctx` is in forward and backward of an autograd.Function. The node owns it; it knows the
/// node while that lives.
struct FunctionContext {
  PyObject_HEAD ContextNode* node;
  std::vector<bool> needs;  ///< requires_grad of each argument of forward
  bool is_set_up;           ///< forward is over, what the node saved counts
  bool materializes;
  bool in_jvp;  ///< saved_tensors are those for forward mode, where there are some
  PyObject *to_save, *saved_for_forward, *dirty, *non_differentiable;  ///< tuples, or null
  PyObject *dict, *weak_references;
};

/// Error(type) unless it is a FunctionCtx.
FunctionContext& to_context(PyObject* object);

}  // namespace flambeau::python
