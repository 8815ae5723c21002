#include "cpu/lapack/one_thread.h"

#include <dlfcn.h>

#include <mutex>

namespace flambeau::cpu::lapack {
namespace {

/// How OpenBLAS is told of threads, for the whole process; another library may have no such
/// functions, and is left alone.
struct Threads {
  int (*count)() = nullptr;
  void (*limit)(int) = nullptr;
  int before = 0;
  int users = 0;
};
std::mutex mutex;
Threads threads;

/// SciPy's build prefixes the names of OpenBLAS.
void* find(void* library, const char* plain, const char* prefixed) {
  void* const found = dlsym(library, prefixed);
  return found ? found : dlsym(library, plain);
}

}  // namespace

void know_library(const void* function) {
  const std::lock_guard lock(mutex);
  Dl_info info{};
  if (threads.limit || dladdr(function, &info) == 0) return;
  // That library or one that it was linked with has them.
  void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  void* const count = find(library, "openblas_get_num_threads", "scipy_openblas_get_num_threads");
  void* const limit = find(library, "openblas_set_num_threads", "scipy_openblas_set_num_threads");
  if (count && limit) {
    threads.count = reinterpret_cast<int (*)()>(count);
    threads.limit = reinterpret_cast<void (*)(int)>(limit);
  }
  dlclose(library);
}

OneThread::OneThread(bool is_wanted) : is_wanted_(is_wanted) {
  if (!is_wanted_) return;
  const std::lock_guard lock(mutex);
  if (!threads.limit || threads.users++ > 0) return;
  threads.before = threads.count();
  threads.limit(1);
}

OneThread::~OneThread() {
  if (!is_wanted_) return;
  const std::lock_guard lock(mutex);
  if (threads.limit && --threads.users == 0) threads.limit(threads.before);
}

}  // namespace flambeau::cpu::lapack
