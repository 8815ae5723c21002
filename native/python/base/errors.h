#pragma once

#include <Python.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace flambeau::python {

/// An owning PyObject pointer for code off the hot path.
class PyRef {
 public:
  PyRef() = default;
  /// Takes over a new reference (possibly null).
  explicit PyRef(PyObject* stolen) : object_(stolen) {}
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef(const PyRef& other) : object_(Py_XNewRef(other.object_)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }
  static PyRef borrow(PyObject* object) { return PyRef(Py_XNewRef(object)); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// A Python exception on its way through C++: raised by a hook, restored unchanged, traceback
/// included, when it comes back to Python.
class FLAMBEAU_API PythonError : public std::exception {
 public:
  /// Takes the exception that is set now; the GIL is held.
  PythonError();
  const char* what() const noexcept override { return message_.c_str(); }
  /// Sets it again; the GIL is held.
  void restore() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::string message_;
};

/// Turns the Python exception that is set into a C++ one.
[[noreturn]] FLAMBEAU_API void throw_python_error();
/// For calls that return a new reference, or null with an exception set.
inline PyRef checked(PyObject* new_reference) {
  if (FLAMBEAU_UNLIKELY(new_reference == nullptr)) throw_python_error();
  return PyRef(new_reference);
}
/// For calls that return -1 on error.
inline int checked(int status) {
  if (FLAMBEAU_UNLIKELY(status < 0)) throw_python_error();
  return status;
}

/// In a catch (...) block: sets the Python exception that corresponds to the C++ one. Returns null.
/// What an operator says of itself that was called by another is said of the one that was `called`;
/// in a function its first argument is what users call it there, `input`.
FLAMBEAU_API PyObject* raise_current_exception(const char* called = nullptr,
                                               bool is_function = false) noexcept;

/// Runs the body of a C-API function: C++ exceptions become Python ones.
template <class Body>
FLAMBEAU_INLINE PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return raise_current_exception();
  }
}
/// The same for a function, or a method, that users know by a name.
template <class Body>
FLAMBEAU_INLINE PyObject* guarded(const char* called, bool is_function, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return raise_current_exception(called, is_function);
  }
}
/// The same for slots that answer with a number, -1 meaning an error.
template <class Result, class Body>
FLAMBEAU_INLINE Result guarded_number(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    raise_current_exception();
    return static_cast<Result>(-1);
  }
}

/// flambeau.OutOfMemoryError, a RuntimeError.
extern PyObject* out_of_memory_error;
/// flambeau.linalg.LinAlgError, a RuntimeError.
extern PyObject* linalg_error;
void add_exceptions(PyObject* module);

}  // namespace flambeau::python
