#pragma once

#include <Python.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdint>

#include "core/tensor/tensor.h"
#include "python/base/errors.h"

namespace flambeau::python {

/// Elements above which a call is worth the ~35 ns that releasing and taking the GIL costs.
inline constexpr int64_t kReleaseGilAbove = 20'000;

/// Whether the interpreter still runs: at its end, objects are left to the operating system.
inline bool interpreter_alive() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() && !Py_IsFinalizing();
#else
  return Py_IsInitialized() && !_Py_IsFinalizing();
#endif
}

namespace detail {
/// Threads that are inside the library without the GIL, counted by who holds it. While there are
/// none, nobody changes tensors or graphs.
FLAMBEAU_API extern int released_threads;
/// When the interpreter ends, it ends all other threads that ask for the GIL, wherever that happens
/// in Python: by unwinding their stacks. C++ functions that must not throw answer with terminate(),
/// and others would give up objects without the GIL. Such a thread stays where it is instead, as it
/// does from Python 3.14 on.
[[noreturn]] FLAMBEAU_API void wait_for_the_end();
FLAMBEAU_API void stop_if_ended();
template <class Body>
auto unless_ended(Body body) {
  try {
    return body();
  } catch (abi::__forced_unwind&) {
    wait_for_the_end();
  }
}
FLAMBEAU_API PyThreadState* release_gil();
FLAMBEAU_API void retake_gil(PyThreadState* state);
FLAMBEAU_API PyGILState_STATE acquire_gil();
}  // namespace detail

/// Lets other Python threads run for a scope, when `work` (elements touched) is large.
class ReleaseGil {
 public:
  explicit ReleaseGil(int64_t work)
      : state_(FLAMBEAU_UNLIKELY(work > kReleaseGilAbove) ? detail::release_gil() : nullptr) {}
  ~ReleaseGil() {
    if (FLAMBEAU_UNLIKELY(state_ != nullptr)) detail::retake_gil(state_);
  }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Takes the GIL on any thread, also one that Python has never seen.
class AcquireGil {
 public:
  AcquireGil() : state_(detail::acquire_gil()) {}
  ~AcquireGil() {
    detail::stop_if_ended();
    PyGILState_Release(state_);
  }
  AcquireGil(const AcquireGil&) = delete;
  AcquireGil& operator=(const AcquireGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Calls what runs Python code, on a thread that Python may not know: a function of the C API that
/// returns a new reference.
template <class Function, class... Arguments>
PyRef call_python(Function* function, Arguments... arguments) {
  return checked(detail::unless_ended([&] { return function(arguments...); }));
}

/// How many elements a call on these arguments touches, roughly: sums of many such do not overflow.
inline int64_t work_of(const Tensor& tensor) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return tensor.defined() ? std::min(tensor.numel(), kMost) : 0;
}
inline int64_t work_of(const Operand& operand) {
  return operand.is_tensor() ? work_of(operand.tensor()) : 0;
}
inline int64_t work_of(TensorList tensors) {
  int64_t total = 0;
  for (const Tensor& tensor : tensors) total += work_of(tensor);
  return total;
}
template <class First, class Second, class... Rest>
int64_t work_of(const First& first, const Second& second, const Rest&... rest) {
  return work_of(first) + work_of(second, rest...);
}

/// Calls `body`, without the GIL when the work is large.
template <class Body>
FLAMBEAU_INLINE decltype(auto) released(int64_t work, Body&& body) {
  const ReleaseGil release(work);
  return body();
}

}  // namespace flambeau::python
