#include "python/base/gil.h"

#include <unistd.h>

namespace flambeau::python::detail {

int released_threads = 0;

void wait_for_the_end() {
  for (;;) pause();
}

void stop_if_ended() {
  // The main thread is the one that ends the interpreter.
  if (!interpreter_alive() && gettid() != getpid()) wait_for_the_end();
}

PyThreadState* release_gil() {
  ++released_threads;
  return PyEval_SaveThread();
}

void retake_gil(PyThreadState* state) {
  stop_if_ended();
  unless_ended([&] { PyEval_RestoreThread(state); });
  --released_threads;
}

PyGILState_STATE acquire_gil() {
  stop_if_ended();
  return unless_ended([] { return PyGILState_Ensure(); });
}

}  // namespace flambeau::python::detail
