#include "accesses.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "memory.h"

// Where zeroed variables of this library lie, and with them the shared memory of kernels.
extern "C" __attribute__((visibility("hidden"))) char __bss_start, _end;

namespace emulated::accesses {

namespace {

constexpr int kShown = 5;

/// Who came to a byte last, in one word: the kernel's number, block, thread, barriers passed.
using Visit = uint64_t;
constexpr int kKernelBits = 16, kBlockBits = 20, kThreadBits = 10, kBarrierBits = 18;

struct Visits {
  Visit write, read;
};

/// Visits to each byte of a range of addresses.
class Shadow {
 public:
  explicit Shadow(size_t bytes) : bytes_(bytes * sizeof(Visits)) {
    void* found = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) {
      std::perror("emulator: no addresses to watch device memory with");
      std::abort();
    }
    visits_ = static_cast<Visits*>(found);
  }
  Visits& operator[](size_t byte) { return visits_[byte]; }
  void forget() { madvise(visits_, bytes_, MADV_DONTNEED); }

 private:
  Visits* visits_;
  size_t bytes_;
};

struct Watch {
  const char* kernel = nullptr;  // nullptr: none runs
  unsigned number = 0;           // of the kernel, from 1
  unsigned block = 0, thread = 0;
  unsigned barriers = 0;  // that the block has passed
  Shadow global{memory::kAddresses};
  Shadow shared{static_cast<size_t>(&_end - &__bss_start)};
  int mistakes = 0;

  Visit now() const {
    return (((Visit{number} << kBlockBits | block % (1u << kBlockBits)) << kThreadBits | thread)
            << kBarrierBits) |
           barriers % (1u << kBarrierBits);
  }
};
Watch& watch() {
  static Watch made;
  return made;
}

bool is_shared_memory(const void* address) { return address >= &__bss_start && address < &_end; }

/// Whether nothing orders two visits. Blocks are never ordered, but have no shared memory in
/// common.
bool is_unordered(Visit before, Visit now, bool is_shared) {
  constexpr int kToThread = kBarrierBits, kToBlock = kToThread + kThreadBits,
                kToKernel = kToBlock + kBlockBits;
  if (before >> kToKernel != now >> kToKernel) return false;
  if (before >> kToBlock != now >> kToBlock) return !is_shared;
  const bool is_same_thread = before >> kToThread == now >> kToThread;
  const Visit barriers = (Visit{1} << kBarrierBits) - 1;
  return !is_same_thread && (before & barriers) == (now & barriers);
}

void report(const char* mistake, const char* access, const void* address, unsigned bytes) {
  if (++watch().mistakes > kShown) return;
  std::fprintf(stderr, "emulator: %s: a %s of %u bytes at %p by thread %u of block %u in %s\n",
               mistake, access, bytes, address, watch().thread, watch().block, watch().kernel);
}

void check_order(const void* address, unsigned bytes, bool is_write, bool is_shared) {
  Shadow& shadow = is_shared ? watch().shared : watch().global;
  const size_t first = is_shared
                           ? static_cast<size_t>(static_cast<const char*>(address) - &__bss_start)
                           : memory::offset(address);
  const Visit now = watch().now();
  bool is_race = false;
  for (size_t byte = first; byte < first + bytes; ++byte) {
    Visits& before = shadow[byte];
    is_race |= is_unordered(before.write, now, is_shared);
    if (is_write) is_race |= is_unordered(before.read, now, is_shared);
    (is_write ? before.write : before.read) = now;
  }
  if (is_race) report("race", is_write ? "write" : "read", address, bytes);
}

/// Of registers and a thread's own memory nothing is said.
void visit(const void* address, unsigned bytes, bool is_write) {
  if (watch().kernel == nullptr) return;
  const bool is_shared = is_shared_memory(address);
  const bool is_global = !is_shared && memory::contains(address);
  if (!is_shared && !is_global) return;
  const char* access = is_write ? "write" : "read";
  if (is_global && !memory::is_allocated(address, bytes))
    report("outside of every allocation", access, address, bytes);
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    report("misaligned", access, address, bytes);
  check_order(address, bytes, is_write, is_shared);
}

}  // namespace

Kernel::Kernel(const char* name) {
  watch().kernel = name;
  if (++watch().number < 1u << kKernelBits) return;
  watch().number = 1;
  watch().global.forget();
  watch().shared.forget();
}
Kernel::~Kernel() {
  watch().kernel = nullptr;
  if (watch().mistakes == 0) return;
  std::fprintf(stderr, "emulator: %d mistakes\n", watch().mistakes);
  std::abort();
}

void begin_block(unsigned block) {
  watch().block = block;
  watch().barriers = 0;
}
void set_thread(unsigned thread) { watch().thread = thread; }
void pass_barrier() { ++watch().barriers; }

}  // namespace emulated::accesses

// What g++ calls in code compiled with -fsanitize=thread.
extern "C" {

#define FLAMBEAU_ACCESSES(bytes)                                                   \
  void __tsan_read##bytes(void* p) { emulated::accesses::visit(p, bytes, false); } \
  void __tsan_write##bytes(void* p) { emulated::accesses::visit(p, bytes, true); } \
  void __tsan_unaligned_read##bytes(void* p) { __tsan_read##bytes(p); }            \
  void __tsan_unaligned_write##bytes(void* p) { __tsan_write##bytes(p); }
FLAMBEAU_ACCESSES(1)
FLAMBEAU_ACCESSES(2)
FLAMBEAU_ACCESSES(4)
FLAMBEAU_ACCESSES(8)
FLAMBEAU_ACCESSES(16)
#undef FLAMBEAU_ACCESSES

void __tsan_read_range(void* p, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; ++i) __tsan_read1(static_cast<char*>(p) + i);
}
void __tsan_write_range(void* p, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; ++i) __tsan_write1(static_cast<char*>(p) + i);
}
// Atomics of the host's, which launches.
int __tsan_atomic32_load(const volatile int* p, int order) { return __atomic_load_n(p, order); }
int __tsan_atomic32_fetch_add(volatile int* p, int value, int order) {
  return __atomic_fetch_add(p, value, order);
}
int __tsan_atomic32_fetch_sub(volatile int* p, int value, int order) {
  return __atomic_fetch_sub(p, value, order);
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

}  // extern "C"
