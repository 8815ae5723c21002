#include "python/base/modules.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace flambeau::python {

namespace {

std::string name_of(PyObject* module) {
  const char* name = PyModule_GetName(module);
  if (!name) throw_python_error();
  return name;
}

}  // namespace

PyRef submodule(PyObject* module, const std::string& path) {
  PyRef parent = PyRef::borrow(module);
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    const std::string name = name_of(parent.get()) + "." + part;
    const PyRef child = PyRef::borrow(PyImport_AddModule(name.c_str()));
    if (!child) throw_python_error();
    checked(PyObject_SetAttrString(parent.get(), part.c_str(), child.get()));
    parent = child;
    begin = end + 1;
  }
  return parent;
}

PyRef name_for_functions(PyObject* module) {
  constexpr std::string_view library = "flambeau", own = "._C";
  std::string known = name_of(module);
  // Modules of packages keep their names.
  const bool is_library = known.starts_with("flambeau._C") && !known.starts_with("flambeau._C._");
  if (is_library) known.erase(library.size(), own.size());
  return checked(PyUnicode_FromString(known.c_str()));
}
PyRef add_function(PyObject* module, PyObject* name, PyMethodDef& function) {
  PyRef object = checked(PyCFunction_NewEx(&function, module, name));
  checked(PyModule_AddObjectRef(module, function.ml_name, object.get()));
  return object;
}
void add_functions(PyObject* module, PyMethodDef* functions) {
  const PyRef name = name_for_functions(module);
  for (; functions->ml_name; ++functions) add_function(module, name.get(), *functions);
}

}  // namespace flambeau::python
