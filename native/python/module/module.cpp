#include "python/module/module.h"

#include <cstdlib>

#include "core/backends/dispatch.h"
#include "core/backends/instruction_set.h"
#include "core/base/warning.h"
#include "python/autograd/autograd_bindings.h"
#include "python/base/c_function.h"
#include "python/base/errors.h"
#include "python/base/generated.h"
#include "python/base/modules.h"
#include "python/base/signals.h"
#include "python/base/warnings.h"
#include "python/calls/overrides.h"
#include "python/calls/taken.h"
#include "python/interop/interop.h"
#include "python/module/docstrings.h"
#include "python/module/foreign.h"
#include "python/module/profiling.h"
#include "python/module/settings.h"
#include "python/objects/construct.h"
#include "python/objects/device_object.h"
#include "python/objects/dtype_object.h"
#include "python/objects/generator_object.h"
#include "python/objects/layout_object.h"
#include "python/objects/size_object.h"
#include "python/objects/storage_object.h"
#include "python/objects/tensor_object.h"

namespace flambeau::python {

namespace {

void fill(PyObject* module) {
  check_registration("");
  attach_docstrings();
  add_exceptions(module);
  add_dtypes(module);
  add_device_type(module);
  add_layouts(module);
  add_size_type(module);
  add_storage_type(module);
  add_tensor_type(module);
  add_generator(module);
  add_c_function_type(module);
  for (PyMethodDef* functions :
       {construction_functions, buffer_functions, dlpack_functions, file_functions}) {
    add_functions(module, functions);
  }
  add_settings(module);
  add_profiling(module);
  add_overrides(module);
  add_taken(module);
  checked(PyModule_AddObjectRef(module, "_packages", checked(PyList_New(0)).get()));
  find_foreign_functions();
  for (const FunctionNamespace* space = generated_namespaces; space->name; ++space) {
    add_functions(submodule(module, space->name).get(), *space);
  }
  bind_autograd(module);
  watch_signals();
  tell_user = &warn_user;
}

/// The layout of Python's objects is that of one version.
void check_python_version() {
  const std::string compiled = PY_VERSION, running = Py_GetVersion();
  const std::string version = compiled.substr(0, compiled.find('.', compiled.find('.') + 1));
  if (running.starts_with(version + ".")) return;
  PyErr_Format(PyExc_ImportError, "flambeau was compiled for Python %s, this is Python %s",
               version.c_str(), running.substr(0, running.find(' ')).c_str());
  throw_python_error();
}

/// A library that was built on another machine may have no more than its fallback for this one.
void warn_of_fallback() {
  const InstructionSet best = supported_instruction_set();
  if (instruction_set() != InstructionSet::baseline || is_usable(best)) return;
  if (std::getenv("FLAMBEAU_CPU")) return;
  checked(PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                           "flambeau was built on a machine without %s and runs slow loops here; "
                           "FLAMBEAU_INSTRUCTION_SETS=all builds those of every machine",
                           kInstructionSets[static_cast<int>(best)]));
}

}  // namespace

PyObject* create_module(PyModuleDef& definition) {
  return guarded([&]() -> PyObject* {
    check_python_version();
    check_instruction_set();
    PyRef module = checked(PyModule_Create(&definition));
    fill(module.get());
    warn_of_fallback();
    return module.release();
  });
}

}  // namespace flambeau::python
