#pragma once

#include <string>
#include <string_view>

#include "core/dispatch.h"

namespace flambeau::cuda {

/// Registers a kernel while the library loads. Nobody could catch an exception there, so what went
/// wrong is kept for flambeau.cuda to report.
class FLAMBEAU_API RegisterKernel {
 public:
  template <class Function>
  RegisterKernel(std::string_view op, Function* kernel) noexcept
      : RegisterKernel(op, reinterpret_cast<void*>(kernel)) {}
  /// What could not be registered, and why; empty when all is well.
  static const std::string& failures();

 private:
  RegisterKernel(std::string_view op, void* kernel) noexcept;
};

}  // namespace flambeau::cuda
