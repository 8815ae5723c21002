#pragma once

/// What the library is called in texts.
namespace flambeau::python {

/// "torch" in a program that imports the library by that name, else "flambeau".
const char* shown_name();

}  // namespace flambeau::python
