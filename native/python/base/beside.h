#pragma once

#include <dlfcn.h>

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace flambeau::python {

/// The path of a file beside the shared library that an address lies in. `who` asks: for errors.
inline std::string beside(std::string_view who, const void* address, std::string_view file) {
  Dl_info library;
  check(dladdr(address, &library) != 0, ErrorKind::runtime, who, ": no shared library holds it");
  const std::string_view path = library.dli_fname;
  const auto end = path.rfind('/') + 1;  // 0 where there is no folder
  return std::string(path.substr(0, end)).append(file);
}

}  // namespace flambeau::python
