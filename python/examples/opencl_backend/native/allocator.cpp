#include "backend.h"
#include "context.h"
#include "core/base/error.h"
#include "core/memory/reusing_allocator.h"

namespace flambeau::opencl {
namespace {

/// Shared virtual memory. The queue runs commands in order, so a block may be handed out again
/// while its last user still waits there.
class SharedMemory final : public ReusingAllocator {
 protected:
  void* reserve(size_t bytes, Device device) override {
    check(device.index == 0, ErrorKind::runtime, device, ": there is one device, opencl:0");
    return clSVMAlloc(Context::instance().context, CL_MEM_READ_WRITE, bytes, 0);
  }
  void give_back(void* data, size_t, Device) noexcept override {
    clSVMFree(Context::instance().context, data);
  }
  void synchronize(Device) noexcept override {
    // An error of a kernel is told to whoever reads its results.
    clFinish(Context::instance().queue);
  }
};

struct RegisterMemory {
  RegisterMemory() {
    // Never destroyed: tensors may outlive every static object.
    register_allocator(backend(), new SharedMemory);
    register_current_device(backend(), [] { return 0; });
  }
} const register_memory;

}  // namespace
}  // namespace flambeau::opencl
