#pragma once

#include <Python.h>

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
extern const std::string_view internal_operators[];
extern const int internal_operator_count;
/// Those of all operators, sorted.
extern const std::string_view operator_names[];
extern const int operator_name_count;

/// The functions of one namespace, in one submodule of _C: "" (the module itself), "nn.functional";
/// and what each of them is.
struct FunctionNamespace {
  const char* name;
  PyMethodDef* functions;
  const Binding* const* bindings;
};
/// Ended by a null name.
extern const FunctionNamespace generated_namespaces[];

}  // namespace flambeau::python
