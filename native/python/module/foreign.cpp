#include "python/module/foreign.h"

#include "core/backends/foreign.h"
#include "python/base/gil.h"

namespace flambeau::python {

namespace {

/// What a capsule of Cython's holds: an address, called after the type of the function.
ForeignFunction find(const char* library, const char* name) {
  const AcquireGil gil;
  const PyRef module = call_python(PyImport_ImportModule, "flambeau._foreign");
  const PyRef capsule = checked(detail::unless_ended(
      [&] { return PyObject_CallMethod(module.get(), "find", "ss", library, name); }));
  ForeignFunction found;
  const char* type = PyCapsule_GetName(capsule.get());
  if (type == nullptr) throw_python_error();
  found.type = type;
  found.address = PyCapsule_GetPointer(capsule.get(), type);
  if (found.address == nullptr) throw_python_error();
  return found;
}

}  // namespace

void find_foreign_functions() { set_foreign_finder(find); }

}  // namespace flambeau::python
