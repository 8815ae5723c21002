#pragma once

#include "python/calls/arguments.h"
#include "python/calls/records.h"

/// The general way to bind arguments to the overloads of a name: anything that is accepted, in any
/// form, and messages that say why nothing fits.
namespace flambeau::python {

/// One borrowed argument per parameter; null where none was given.
template <int count>
struct Slots {
  PyObject* values[count];
};

/// Which overload matched, and its slots.
class Parsed {
 public:
  Parsed(int overload, PyObject** slots, PyObject* packed)
      : overload(overload), slots_(slots), packed_(packed) {}
  PyObject* operator[](int i) const { return slots_[i]; }
  const int overload;

 private:
  PyObject** slots_;
  PyRef packed_;  // the tuple that x.view(2, 3) stands for
};

/// Fills `slots`, one for each parameter of the overload with most. Throws PythonError(TypeError)
/// with all signatures when none matches.
Parsed parse(const Binding& binding, PyObject* receiver, PyObject* const* args, Py_ssize_t count,
             PyObject* names, PyObject** slots);

/// The same for functions that are written by hand.
template <int size>
Parsed parse(const Binding& binding, PyObject* receiver, PyObject* const* args, Py_ssize_t count,
             PyObject* names, Slots<size>& slots) {
  return parse(binding, receiver, args, count, names, slots.values);
}

}  // namespace flambeau::python
