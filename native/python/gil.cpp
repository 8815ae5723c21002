#include "python/gil.h"

#include <cxxabi.h>
#include <unistd.h>

namespace flambeau::python::detail {

int released_threads = 0;

namespace {

[[noreturn]] void wait_for_the_end_of_the_process() {
  for (;;) pause();
}

/// Takes the GIL by `take`. When the interpreter ends, it ends all other threads that ask for the
/// GIL: by unwinding their stacks, which C++ functions that must not throw answer with terminate().
/// Such a thread stays here instead, as it does from Python 3.14 on.
template <class Take>
auto taken(Take take) {
  // The main thread is the one that ends the interpreter.
  if (!interpreter_alive() && gettid() != getpid()) wait_for_the_end_of_the_process();
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    wait_for_the_end_of_the_process();
  }
}

}  // namespace

PyThreadState* release_gil() {
  ++released_threads;
  return PyEval_SaveThread();
}

void retake_gil(PyThreadState* state) {
  taken([&] {
    PyEval_RestoreThread(state);
    return 0;
  });
  --released_threads;
}

PyGILState_STATE acquire_gil() {
  return taken([] { return PyGILState_Ensure(); });
}

}  // namespace flambeau::python::detail
