#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <string>

namespace flambeau::opencl {

/// Error(runtime) that names the call and the code where an OpenCL function fails.
void check_cl(cl_int code, const char* call);

/// The device that this process uses, with one queue that runs commands in order: the first GPU,
/// else the first device of any kind. FLAMBEAU_OPENCL_DEVICE=PLATFORM:DEVICE picks another by its
/// numbers. It must share virtual memory (SVM), so that tensors hold plain addresses.
struct Context {
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue queue = nullptr;
  std::string name;            ///< of device and driver
  bool has_doubles = false;    ///< else numbers of formulas are float
  size_t parameter_bytes = 0;  ///< what a kernel's arguments may take
  size_t group_size = 0;       ///< work-items that run together

  static const Context& instance();
};

/// Waits until all commands have run.
void synchronize();

}  // namespace flambeau::opencl
