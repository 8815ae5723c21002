#include "python/module/package.h"

#include <unistd.h>

#include <string>
#include <unordered_map>

#include "core/backends/dispatch.h"
#include "python/base/beside.h"
#include "python/base/modules.h"
#include "python/calls/overrides.h"
#include "python/objects/tensor_object.h"

extern "C" const int FLAMBEAU_ABI = 1;

namespace flambeau::python {

namespace {

/// Which package a method of Tensor came from: a package that is loaded anew replaces its own.
std::unordered_map<std::string, std::string>& method_owners() {
  static std::unordered_map<std::string, std::string> owners;
  return owners;
}

void add_method(const char* package, PyMethodDef* method) {
  auto* type = reinterpret_cast<PyObject*>(tensor_type);
  const auto owner = method_owners().find(method->ml_name);
  const bool is_own = owner != method_owners().end() && owner->second == package;
  if (!is_own && PyObject_HasAttrString(type, method->ml_name)) {
    const bool is_library = owner == method_owners().end();
    PyErr_Format(PyExc_ImportError, "%s: flambeau.Tensor has an attribute '%s' already, of %s",
                 package, method->ml_name, is_library ? "the library" : owner->second.c_str());
    throw_python_error();
  }
  const PyRef descriptor = checked(PyDescr_NewMethod(tensor_type, method));
  checked(PyObject_SetAttrString(type, method->ml_name, descriptor.get()));
  method_owners()[method->ml_name] = package;
}

/// flambeau._C._packages lists modules; each knows how vmap computes its operators.
void remember_package(const char* package, PyObject* module, const char* batching) {
  const PyRef library = checked(PyImport_ImportModule("flambeau._C"));
  const PyRef packages = checked(PyObject_GetAttrString(library.get(), "_packages"));
  checked(PyModule_AddStringConstant(module, "_package", package));
  checked(PyModule_AddStringConstant(module, "_batching", batching));
  checked(PyList_Append(packages.get(), module));
}

/// Kernels for CUDA register when their library is loaded: NAME_cuda.so beside the module NAME.
void load_cuda_kernels(const PyModuleDef& definition) {
  const std::string name = definition.m_name;
  const auto file = beside(name, &definition, name.substr(name.rfind('.') + 1) + "_cuda.so");
  if (access(file.c_str(), F_OK) != 0) return;
  const PyRef loader = checked(PyImport_ImportModule("flambeau.cuda._library"));
  checked(PyObject_CallMethod(loader.get(), "load_kernels", "s", file.c_str()));
}

}  // namespace

PyObject* create_package(const char* package, PyModuleDef& definition,
                         const FunctionNamespace* namespaces, PyMethodDef* methods,
                         const char* batching) {
  return guarded([&]() -> PyObject* {
    checked(PyImport_ImportModule("flambeau"));
    check_registration(package);
    load_cuda_kernels(definition);
    PyRef module = checked(PyModule_Create(&definition));
    for (const FunctionNamespace* space = namespaces; space->name; ++space) {
      add_functions(submodule(module.get(), space->name).get(), *space);
    }
    for (PyMethodDef* method = methods; method->ml_name; ++method) add_method(package, method);
    remember_package(package, module.get(), batching);
    return module.release();
  });
}

}  // namespace flambeau::python
