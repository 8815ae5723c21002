#pragma once

#include <string>

namespace flambeau::python {

/// A UserWarning of the line of the program, outside of the library, that is being run; throws
/// where the program has made an error of it.
void warn_user(const std::string& message);

}  // namespace flambeau::python
