#pragma once

#include "abi.h"
#include "python/base/errors.h"
#include "python/base/generated.h"

/// Extension modules with operators from outside the library. Such a module links libflambeau.so
/// and libflambeau_python.so; its tables are generated, as those of the library are.
namespace flambeau::python {

/// What a module's PyInit function returns: a module with the functions, each namespace in a
/// submodule, whose methods have been added to flambeau.Tensor. Imports flambeau first. Null with
/// an ImportError when Tensor has an attribute of such a name that is not the package's own.
/// `batching`: how vmap computes its operators, which flambeau.func reads off the module.
FLAMBEAU_API PyObject* create_package(const char* package, PyModuleDef& definition,
                                      const FunctionNamespace* namespaces, PyMethodDef* methods,
                                      const char* batching);

}  // namespace flambeau::python

/// Defined by a libflambeau_python.so of the same headers only: a package that was built against
/// other ones does not load, and the loader's message is this symbol's name.
extern "C" FLAMBEAU_API const int FLAMBEAU_ABI;
