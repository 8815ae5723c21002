#pragma once

namespace flambeau::python {

/// Gives the declared functions and methods their docstrings, from lib/docstrings.txt beside this
/// library: documentation is data, so that editing it compiles nothing. To be called before the
/// tables become functions.
void attach_docstrings();

}  // namespace flambeau::python
