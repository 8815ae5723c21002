#pragma once

namespace flambeau::python {

/// From now on long work of the main thread runs Python's handlers of signals between its blocks;
/// what a handler raises (KeyboardInterrupt) ends the work.
void watch_signals();

}  // namespace flambeau::python
