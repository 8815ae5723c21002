#pragma once

#include <Python.h>

#include <span>
#include <string_view>

/// What the generated bindings define for the module: everything that the declarations decide.
namespace flambeau::python {

struct Binding;

/// Methods of flambeau.Tensor, METH_FASTCALL | METH_KEYWORDS, ended by a null name.
extern PyMethodDef generated_methods[];
/// Number slots of flambeau.Tensor ({Py_nb_add, ...}), ended by {0, nullptr}.
extern PyType_Slot generated_slots[];
/// `a OP b`, indexed by Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE; null where none is declared.
extern binaryfunc const generated_comparisons[6];

/// Operators without a public name, in order.
extern const std::span<const std::string_view> internal_operators;
/// Those of all operators, sorted.
extern const std::span<const std::string_view> operator_names;

/// A function of a namespace, and the record that it stands for.
struct BoundFunction {
  PyMethodDef method;
  const Binding* binding;
};
/// The functions of one namespace, in one submodule of _C: "" (the module itself), "nn.functional".
struct FunctionNamespace {
  const char* name;
  std::span<BoundFunction> functions;
};
/// Ended by a null name.
extern const FunctionNamespace generated_namespaces[];

}  // namespace flambeau::python
