#pragma once

#include <Python.h>

#include "autograd/graph/node.h"

/// Cycles that several tensors lead into together: a hook that sees a tensor and a view of it, or a
/// result and what was computed of it. No wrapper alone owns what closes such a cycle, so none can
/// tell Python's collector of it (autograd/graph/ownership.h).
///
/// While a full collection runs, every tensor and node that a wrapper leads to has a mirror image:
/// a Python object with as many references as the C++ object has, which tells the collector what
/// that object holds. The collector then sees one graph without a seam, and counts.
namespace flambeau::python {

/// The image of an object, borrowed; null without one.
PyObject* mirror_image(const TensorImpl& tensor);
PyObject* mirror_image(const autograd::Node& node);
/// Whether a full collection is under way: only images tell what objects of C++ hold.
bool is_mirrored();

/// Watches for collections, through gc.callbacks.
void add_mirror();

}  // namespace flambeau::python
