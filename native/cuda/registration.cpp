#include "cuda/registration.h"

namespace flambeau::cuda {

namespace {
std::string& all_failures() {
  static std::string text;
  return text;
}
}  // namespace

RegisterKernel::RegisterKernel(std::string_view op, void* kernel) noexcept {
  try {
    register_kernel(op, Backend::cuda, kernel);
  } catch (const Error& error) {
    all_failures() += all_failures().empty() ? error.what() : std::string("\n") + error.what();
  }
}

const std::string& RegisterKernel::failures() { return all_failures(); }

}  // namespace flambeau::cuda
