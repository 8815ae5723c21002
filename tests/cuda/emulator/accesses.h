#pragma once

/// Watches what kernels read and write. They are compiled with -fsanitize=thread, whose calls come
/// here: two threads at one address with no barrier between them, one of which writes; addresses
/// outside of what was allocated; addresses that do not suit the size. The first mistakes are
/// printed, and end the process when the kernel is done.
namespace emulated::accesses {

/// While it lives, a kernel runs.
class Kernel {
 public:
  explicit Kernel(const char* name);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();
};
void begin_block(unsigned block);
void set_thread(unsigned thread);
void pass_barrier();

}  // namespace emulated::accesses
