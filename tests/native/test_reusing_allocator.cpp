// The allocator that backends derive theirs from, over a system that counts and may have no room.

#include "core/memory/reusing_allocator.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "check.h"
#include "core/base/error.h"

using namespace flambeau;

namespace {

constexpr Device kFirst{Backend{5}, 0}, kSecond{Backend{5}, 1};

class Counting final : public ReusingAllocator {
 public:
  std::map<void*, std::pair<size_t, int>> taken;
  size_t room = size_t{1} << 30;
  int waits = 0;

 protected:
  void* reserve(size_t bytes, Device device) override {
    if (bytes > room) return nullptr;
    room -= bytes;
    void* const data = std::aligned_alloc(64, bytes);
    taken[data] = {bytes, device.index};
    return data;
  }
  void give_back(void* data, size_t bytes, Device device) noexcept override {
    const auto& [size, index] = taken.at(data);
    CHECK(size == bytes && index == device.index);
    taken.erase(data);
    room += bytes;
    std::free(data);
  }
  void synchronize(Device) noexcept override { ++waits; }
};

}  // namespace

TEST(freed_blocks_serve_again_on_their_device) {
  Counting memory;
  void* const first = memory.allocate(1000, kFirst);
  std::memset(first, 1, 1000);
  memory.deallocate(first, 1000, kFirst);
  void* const other = memory.allocate(1000, kSecond);
  CHECK(other != first);
  CHECK(memory.allocate(990, kFirst) == first);
  memory.deallocate(other, 1000, kSecond);
  memory.deallocate(first, 990, kFirst);
  CHECK(memory.statistics().system_allocations == 2 && memory.statistics().allocations == 3);
  memory.release_cached();
  CHECK(memory.taken.empty() && memory.waits == 2);
  CHECK(memory.statistics().reserved_bytes == 0 && memory.statistics().allocated_bytes == 0);
}

TEST(blocks_hold_what_was_asked_for_and_little_more) {
  Counting memory;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{255}, size_t{257}, size_t{4097},
                             size_t{1000003}, size_t{77000001}}) {
    void* const data = memory.allocate(bytes, kFirst);
    const size_t size = memory.taken.at(data).first;
    CHECK(size >= bytes && size <= bytes + bytes / 4 + 256);
    memory.deallocate(data, bytes, kFirst);
  }
  memory.release_cached();
}

TEST(what_is_free_makes_room) {
  Counting memory;
  memory.room = 4096;
  void* const small = memory.allocate(2048, kFirst);
  memory.deallocate(small, 2048, kFirst);
  void* const large = memory.allocate(4096, kSecond);
  CHECK(large && memory.taken.size() == 1);
  bool refused = false;
  try {
    memory.allocate(2048, kFirst);
  } catch (const Error& error) {
    refused = std::string(error.what()).find("no room for 2048 bytes; 4096 are in use") !=
              std::string::npos;
  }
  CHECK(refused);
  memory.deallocate(large, 4096, kSecond);
  memory.release_cached();
}

TEST(sizes_that_overflow_are_refused) {
  Counting memory;
  bool refused = false;
  try {
    memory.allocate(SIZE_MAX - 5, kFirst);
  } catch (const Error&) {
    refused = true;
  }
  CHECK(refused && memory.taken.empty());
}

TEST(peaks_are_kept_until_they_are_reset) {
  Counting memory;
  void* const data = memory.allocate(1024, kFirst);
  memory.deallocate(data, 1024, kFirst);
  CHECK(memory.statistics().peak_allocated_bytes == 1024);
  memory.reset_peak();
  CHECK(memory.statistics().peak_allocated_bytes == 0);
  CHECK(memory.statistics().peak_reserved_bytes == 1024);
  memory.release_cached();
}

TEST(threads_share_it) {
  Counting memory;
  std::thread threads[4];
  for (int t = 0; t < 4; ++t) {
    threads[t] = std::thread([&memory, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto bytes = static_cast<size_t>(64 + (i * 37 + t) % 5000);
        const Device device = i % 2 == 0 ? kFirst : kSecond;
        auto* const data = static_cast<unsigned char*>(memory.allocate(bytes, device));
        data[0] = data[bytes - 1] = static_cast<unsigned char>(t);
        CHECK(data[0] == t && data[bytes - 1] == t);
        memory.deallocate(data, bytes, device);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(memory.statistics().allocated_bytes == 0);
  memory.release_cached();
  CHECK(memory.taken.empty());
}
