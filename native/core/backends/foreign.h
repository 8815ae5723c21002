#pragma once

#include <string>

#include "core/base/macros.h"

namespace flambeau {

/// A C function of another library.
struct ForeignFunction {
  void* address = nullptr;
  std::string type;  ///< "void (char *, int *, ...)", as that library spells it
};

/// Finds a function of a library by name. Whoever can load libraries sets it: the Python module
/// does. May be called on any thread, several at a time.
using ForeignFinder = ForeignFunction (*)(const char* library, const char* name);
FLAMBEAU_API void set_foreign_finder(ForeignFinder finder);

/// The function. Error(runtime) where nobody loads libraries; what the finder throws otherwise.
FLAMBEAU_API ForeignFunction foreign_function(const char* library, const char* name);

}  // namespace flambeau
