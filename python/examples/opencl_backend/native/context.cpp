#include "context.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backend.h"
#include "core/backends/dispatch.h"
#include "core/backends/queue.h"
#include "core/base/error.h"

namespace flambeau::opencl {

void check_cl(cl_int code, const char* call) {
  check(code == CL_SUCCESS, ErrorKind::runtime, "opencl: ", call, " failed with code ", code);
}

namespace {
std::vector<cl_platform_id> platforms() {
  cl_uint count = 0;
  // Without any platform the loader answers with an error rather than with none.
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> found(count);
  check_cl(clGetPlatformIDs(count, found.data(), nullptr), "clGetPlatformIDs");
  return found;
}

std::vector<cl_device_id> devices(cl_platform_id platform, cl_device_type kind) {
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, kind, 0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_device_id> found(count);
  check_cl(clGetDeviceIDs(platform, kind, count, found.data(), nullptr), "clGetDeviceIDs");
  return found;
}

template <class T>
T device_info(cl_device_id device, cl_device_info what) {
  T value{};
  check_cl(clGetDeviceInfo(device, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

std::string device_text(cl_device_id device, cl_device_info what) {
  size_t bytes = 0;
  check_cl(clGetDeviceInfo(device, what, 0, nullptr, &bytes), "clGetDeviceInfo");
  std::string text(bytes, '\0');
  check_cl(clGetDeviceInfo(device, what, bytes, text.data(), nullptr), "clGetDeviceInfo");
  text.resize(bytes - 1);
  return text;
}

cl_device_id named_device(const char* name) {
  unsigned platform = 0, device = 0;
  check(std::sscanf(name, "%u:%u", &platform, &device) == 2, ErrorKind::value,
        "opencl: FLAMBEAU_OPENCL_DEVICE is PLATFORM:DEVICE, as 0:0, not '", name, "'");
  const auto all = platforms();
  check(platform < all.size(), ErrorKind::runtime, "opencl: FLAMBEAU_OPENCL_DEVICE=", name,
        " names a platform of ", all.size());
  const auto found = devices(all[platform], CL_DEVICE_TYPE_ALL);
  check(device < found.size(), ErrorKind::runtime, "opencl: FLAMBEAU_OPENCL_DEVICE=", name,
        " names a device of ", found.size());
  return found[device];
}

cl_device_id pick_device() {
  if (const char* name = std::getenv("FLAMBEAU_OPENCL_DEVICE")) return named_device(name);
  for (const cl_device_type kind :
       {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (const cl_platform_id platform : platforms())
      if (const auto found = devices(platform, kind); !found.empty()) return found[0];
  }
  fail(ErrorKind::runtime,
       "opencl: this machine has no OpenCL device; install a driver, or PoCL for its processor");
}

Context make_context() {
  Context made;
  made.device = pick_device();
  made.name =
      device_text(made.device, CL_DEVICE_NAME) + ", " + device_text(made.device, CL_DRIVER_VERSION);
  cl_device_svm_capabilities shared = 0;
  clGetDeviceInfo(made.device, CL_DEVICE_SVM_CAPABILITIES, sizeof shared, &shared, nullptr);
  check(shared & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, ErrorKind::runtime, "opencl: the device ",
        made.name, " does not share virtual memory (SVM), which this backend needs");
  made.has_doubles =
      device_text(made.device, CL_DEVICE_EXTENSIONS).find("cl_khr_fp64") != std::string::npos;
  made.parameter_bytes = device_info<size_t>(made.device, CL_DEVICE_MAX_PARAMETER_SIZE);
  made.group_size =
      std::min<size_t>(64, device_info<size_t>(made.device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  cl_int code = CL_SUCCESS;
  made.context = clCreateContext(nullptr, 1, &made.device, nullptr, nullptr, &code);
  check_cl(code, "clCreateContext");
  made.queue = clCreateCommandQueueWithProperties(made.context, made.device, nullptr, &code);
  check_cl(code, "clCreateCommandQueueWithProperties");
  return made;
}
}  // namespace

const Context& Context::instance() {
  static const Context context = make_context();
  return context;
}

Backend backend() {
  static const Backend index = register_backend("opencl");
  return index;
}

namespace {
/// A mark behind all commands, which the device sets when they have run.
bool is_done(Device) {
  cl_event mark = nullptr;
  const cl_command_queue queue = Context::instance().queue;
  check_cl(clEnqueueMarkerWithWaitList(queue, 0, nullptr, &mark), "clEnqueueMarkerWithWaitList");
  cl_int state = CL_QUEUED;
  const cl_int flushed = clFlush(queue);
  const cl_int asked =
      clGetEventInfo(mark, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
  clReleaseEvent(mark);
  check_cl(flushed, "clFlush");
  check_cl(asked, "clGetEventInfo");
  return state == CL_COMPLETE;
}

struct RegisterQueue {
  RegisterQueue() {
    register_queue(backend(), {[](Device) { synchronize(); }, &is_done});
  }
} const queue_registration;
}  // namespace

void synchronize() { check_cl(clFinish(Context::instance().queue), "clFinish"); }

}  // namespace flambeau::opencl
