/// What newer C libraries have under newer versions, by way of what all since glibc 2.17 have: part
/// of wheels, which are linked on one system and load on older ones. Calls from within the library
/// find these first; none is visible outside.

#include <sys/syscall.h>
#include <sys/types.h>

#define FLAMBEAU_OWN extern "C" __attribute__((visibility("hidden")))

// Versions that stayed the same function and versions that differ in errno alone.
#define FLAMBEAU_OLDER(result, name, parameters, arguments)  \
  extern "C" result older_##name parameters;                 \
  __asm__(".symver older_" #name ", " #name "@GLIBC_2.2.5"); \
  FLAMBEAU_OWN result own_##name parameters __asm__(#name);  \
  result own_##name parameters { return older_##name arguments; }

FLAMBEAU_OLDER(double, exp, (double x), (x))
FLAMBEAU_OLDER(double, exp2, (double x), (x))
FLAMBEAU_OLDER(double, log, (double x), (x))
FLAMBEAU_OLDER(double, log2, (double x), (x))
FLAMBEAU_OLDER(double, pow, (double x, double y), (x, y))
FLAMBEAU_OLDER(double, hypot, (double x, double y), (x, y))
FLAMBEAU_OLDER(float, hypotf, (float x, float y), (x, y))
FLAMBEAU_OLDER(int, pthread_mutex_trylock, (void* mutex), (mutex))
FLAMBEAU_OLDER(int, pthread_sigmask, (int how, const void* set, void* old), (how, set, old))
FLAMBEAU_OLDER(int, dladdr, (const void* address, void* info), (address, info))
FLAMBEAU_OLDER(void*, dlopen, (const char* name, int flags), (name, flags))
FLAMBEAU_OLDER(void*, dlsym, (void* library, const char* name), (library, name))

extern "C" long syscall(long number, ...);

FLAMBEAU_OWN pid_t gettid() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// The kernel's structure is the C library's on this architecture.
FLAMBEAU_OWN int fstat(int file, void* status) {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}

// Since glibc 2.32 the C++ library's reference counts ask: there may always be other threads.
FLAMBEAU_OWN char __libc_single_threaded;
char __libc_single_threaded = 0;
