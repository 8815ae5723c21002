#include "memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

namespace emulated::memory {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kFilled = size_t{64} << 20;  // larger allocations hold zeros: filling takes long

struct Arena {
  char* begin = nullptr;
  size_t given = 0;  // addresses, from the beginning
  int key = -1;
  size_t allocated = 0;
  std::map<const char*, size_t> allocations;

  Arena() {
    constexpr int kReadWrite = PROT_READ | PROT_WRITE;
    void* found =
        mmap(nullptr, kAddresses, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) {
      std::perror("emulator: no addresses for device memory");
      std::abort();
    }
    begin = static_cast<char*>(found);
    key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    if (key >= 0 && pkey_mprotect(begin, kAddresses, kReadWrite, key) != 0) key = -1;
  }
};

Arena& arena() {
  static Arena made;
  return made;
}

/// Whole pages, and one that belongs to nobody.
size_t reserved(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage + kPage; }

thread_local int accesses = 0;

}  // namespace

void* allocate(size_t bytes) {
  Arena& a = arena();
  if (bytes > kLimit - a.allocated || reserved(bytes) > kAddresses - a.given) return nullptr;
  char* data = a.begin + a.given;
  a.given += reserved(bytes);
  a.allocated += bytes;
  a.allocations.emplace(data, bytes);
  if (bytes <= kFilled) {
    const Access access;
    std::memset(data, 0xA5, bytes);
  }
  return data;
}

bool release(void* data) {
  Arena& a = arena();
  const auto found = a.allocations.find(static_cast<char*>(data));
  if (found == a.allocations.end()) return false;
  a.allocated -= found->second;
  madvise(data, reserved(found->second), MADV_DONTNEED);
  a.allocations.erase(found);
  return true;
}

size_t allocated_bytes() { return arena().allocated; }

bool contains(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  return byte >= arena().begin && byte < arena().begin + kAddresses;
}

size_t offset(const void* address) {
  return static_cast<size_t>(static_cast<const char*>(address) - arena().begin);
}

bool is_allocated(const void* address, size_t bytes) {
  const Arena& a = arena();
  const auto* first = static_cast<const char*>(address);
  const auto after = a.allocations.upper_bound(first);
  if (after == a.allocations.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  const auto offset = static_cast<size_t>(first - begin);
  return offset <= size && bytes <= size - offset;
}

Access::Access() {
  if (arena().key >= 0 && accesses++ == 0) pkey_set(arena().key, 0);
}
Access::~Access() {
  if (arena().key >= 0 && --accesses == 0) pkey_set(arena().key, PKEY_DISABLE_ACCESS);
}

}  // namespace emulated::memory
