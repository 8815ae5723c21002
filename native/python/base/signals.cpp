#include "python/base/signals.h"

#include <unistd.h>

#include "core/threads/interrupt.h"
#include "python/base/errors.h"
#include "python/base/gil.h"

namespace flambeau::python {

namespace {

void run_handlers() {
  // Python runs them on its main thread only.
  if (gettid() != getpid() || !interpreter_alive()) return;
  const AcquireGil gil;
  checked(PyErr_CheckSignals());
}

}  // namespace

void watch_signals() { stop_if_asked = &run_handlers; }

}  // namespace flambeau::python
