// Allocation, storage, threads, fork.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "check.h"
#include "core/memory/shared_storage.h"
#include "core/threads/parallel.h"
#include "core_tools.h"

using namespace flambeau;
using namespace flambeau::testing;

#ifdef FLAMBEAU_EXACT_BLOCKS
constexpr bool kCaches = false;  // a block of its own for every tensor, given back at once
#else
constexpr bool kCaches = true;
#endif

TEST(blocks_are_aligned_and_reused) {
  for (const size_t bytes :
       {1, 64, 65, 1000, 1024, 1025, 5000, 100000, 1 << 20, (1 << 20) + 1, 3 << 20, 50 << 20}) {
    void* first;
    {
      const Ref<Storage> storage = Storage::allocate(bytes, Device{});
      first = storage->data();
      CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
      std::memset(first, 0x5a, bytes);
    }
    // The smallest blocks are shared with the Storage objects themselves.
    if (kCaches && bytes > 64) CHECK(Storage::allocate(bytes, Device{})->data() == first);
  }
  CHECK(Storage::allocate(0, Device{})->data() == nullptr);
}

TEST(live_blocks_do_not_overlap) {
  std::mt19937 random(1);
  struct Block {
    Ref<Storage> storage;
    unsigned char mark;
  };
  std::vector<Block> blocks;
  for (int step = 0; step < 4000; ++step) {
    if (blocks.empty() || random() % 2) {
      const size_t bytes = 1 + random() % (size_t{1} << (random() % 22));
      Block block{Storage::allocate(bytes, Device{}), static_cast<unsigned char>(random())};
      std::memset(block.storage->data(), block.mark, bytes);
      blocks.push_back(std::move(block));
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block& block = blocks.back();
      const auto* data = static_cast<const unsigned char*>(block.storage->data());
      bool intact = true;
      for (size_t i = 0; i < block.storage->bytes(); ++i) intact &= data[i] == block.mark;
      CHECK(intact);
      blocks.pop_back();
    }
  }
}

TEST(statistics_and_release) {
  if (!kCaches) return;
  Allocator& cpu = allocator(Backend::cpu);
  cpu.release_cached();
  cpu.reset_peak();
  const AllocatorStatistics before = cpu.statistics();
  CHECK(before.reserved_bytes == before.allocated_bytes);
  {
    const Ref<Storage> big = Storage::allocate(10 << 20, Device{});
    const Ref<Storage> small = Storage::allocate(100, Device{});
    const AllocatorStatistics during = cpu.statistics();
    const int64_t grown = during.allocated_bytes - before.allocated_bytes;
    CHECK(grown >= (10 << 20) + 100 && grown <= (10 << 20) * 9 / 8 + 4096);
    CHECK(during.allocations - before.allocations == 2);
    CHECK(during.system_allocations - before.system_allocations == 1);
  }
  const AllocatorStatistics after = cpu.statistics();
  CHECK(after.allocated_bytes == before.allocated_bytes);
  CHECK(after.reserved_bytes >= before.reserved_bytes + (10 << 20));
  CHECK(after.peak_allocated_bytes >= before.allocated_bytes + (10 << 20));
  cpu.release_cached();
  CHECK(cpu.statistics().reserved_bytes == before.reserved_bytes);
}

TEST(cache_limit) {
  if (!kCaches) return;
  Allocator& cpu = allocator(Backend::cpu);
  set_cpu_cache_limit(8 << 20);
  {
    std::vector<Ref<Storage>> many;
    for (int i = 0; i < 10; ++i) many.push_back(Storage::allocate(2 << 20, Device{}));
  }
  const AllocatorStatistics statistics = cpu.statistics();
  CHECK(statistics.reserved_bytes - statistics.allocated_bytes <= 8 << 20);
  CHECK(statistics.reserved_bytes - statistics.allocated_bytes > 0);
  set_cpu_cache_limit(size_t{1} << 30);
}

TEST(best_fit_stays_close) {
  if (!kCaches) return;
  allocator(Backend::cpu).release_cached();
  void* ten;
  {
    const Ref<Storage> storage = Storage::allocate(10 << 20, Device{});
    ten = storage->data();
  }
  CHECK(Storage::allocate(9 << 20, Device{})->data() == ten);
  CHECK(Storage::allocate(4 << 20, Device{})->data() != ten);
}

/// What was written last may still be in the cache: a program that needs one block at a time gets
/// the same one, however many others there are.
TEST(newest_block_is_first) {
  if (!kCaches) return;
  for (const size_t bytes : {size_t{40} << 10, size_t{4} << 20}) {
    allocator(Backend::cpu).release_cached();
    std::vector<Ref<Storage>> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(Storage::allocate(bytes, Device{}));
    void* const newest = blocks[2]->data();
    std::swap(blocks[2], blocks[4]);
    while (!blocks.empty()) blocks.erase(blocks.begin());
    for (int i = 0; i < 3; ++i) CHECK(Storage::allocate(bytes, Device{})->data() == newest);
  }
}

TEST(out_of_memory) {
  CHECK(throws(ErrorKind::out_of_memory, "bytes",
               [] { Storage::allocate(size_t{1} << 62, Device{}); }));
  CHECK(throws(ErrorKind::out_of_memory, kCaches ? "in use" : "cannot allocate",
               [] { Storage::allocate(size_t{1} << 50, Device{}); }));
  const int64_t huge = int64_t{1} << 31;
  CHECK(throws(ErrorKind::runtime, "64 bits", [&] { empty(Shape{huge, huge, 2}); }));
  CHECK(throws(ErrorKind::runtime, "64 bits", [&] {
    empty(Shape{huge, huge / 2}, DType::float64);
  }));
  CHECK(throws(ErrorKind::runtime, "negative", [] { empty(Shape{2, -3}); }));
  CHECK(empty(Shape{huge, huge, huge, 0}).numel() == 0);
  CHECK(throws(ErrorKind::runtime, "64 dimensions", [] { empty(Shape(65, 1)); }));
}

TEST(blocks_move_between_threads) {
  std::vector<Tensor> tensors;
  std::thread maker([&] {
    for (int64_t i = 0; i < 3000; ++i) {
      tensors.push_back(empty(Shape{1 + i % 300}));
      fill_data(tensors.back(), static_cast<double>(i));
    }
  });
  maker.join();
  bool right = true;
  for (int64_t i = 0; i < 3000; ++i) right &= *tensors[i].data<float>() == static_cast<float>(i);
  CHECK(right);
  const int64_t in_use = allocator(Backend::cpu).statistics().allocated_bytes;
  std::thread dropper([&] { tensors.clear(); });
  dropper.join();
  CHECK(!kCaches || allocator(Backend::cpu).statistics().allocated_bytes < in_use);
}

TEST(many_threads_at_once) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t, &wrong] {
      std::mt19937 random(t);
      std::vector<Tensor> kept(16);
      for (int i = 0; i < 2000; ++i) {
        Tensor& slot = kept[random() % 16];
        if (slot.defined() && *slot.data<float>() != static_cast<float>(slot.numel() + t)) ++wrong;
        slot = empty(Shape{1 + static_cast<int64_t>(random() % 4000)});
        *slot.data<float>() = static_cast<float>(slot.numel() + t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST(storages) {
  static int released = 0;
  float data[6] = {0, 1, 2, 3, 4, 5};
  {
    Ref<Storage> storage =
        Storage::borrow(data, sizeof data, Device{}, &released,
                        [](void* count) noexcept { ++*static_cast<int*>(count); });
    const Tensor base = empty(Shape{0});
    base.impl()->storage = storage;
    const Tensor view = make_view(base, Shape{2, 3}, Shape{3, 1}, 0);
    CHECK(values<float>(view) == std::vector<float>({0, 1, 2, 3, 4, 5}));
    CHECK(throws(ErrorKind::runtime, "outside", [&] { make_view(base, Shape{7}, Shape{1}, 0); }));
    CHECK(throws(ErrorKind::runtime, "outside", [&] { make_view(base, Shape{2}, Shape{-1}, 0); }));
    CHECK(throws(ErrorKind::runtime, "outside", [&] { make_view(base, Shape{1}, Shape{1}, -1); }));
    CHECK(values<float>(make_view(base, Shape{6}, Shape{-1}, 5)).front() == 5);
    CHECK(throws(ErrorKind::runtime, "add(): a storage of 24 bytes over memory that belongs to",
                 [&] { storage->grow(28, "add"); }));
    const Ref<Storage> alias = Storage::alias(storage);
    alias->bump_version();
    CHECK(alias->version() == 1 && storage->version() == 0 && alias->data() == data);
    storage = Ref<Storage>();
    CHECK(released == 0);
  }
  CHECK(released == 1);
  const Tensor tensor = arange<float>(Shape{4});
  tensor.storage()->grow(1000, "test");
  CHECK(values<float>(tensor) == std::vector<float>({0, 1, 2, 3}));
  tensor.storage()->grow(8, "test");
  CHECK(tensor.storage()->bytes() == 1000);
  resize_data(tensor, Shape{30, 40}, "test");
  CHECK(tensor.numel() == 1200 && tensor.is_contiguous() && tensor.data<float>()[1] == 1);
}

TEST(pinned_storages_stay_where_they_are) {
  const Tensor tensor = arange<float>(Shape{4});
  const void* data = tensor.raw_data();
  std::optional<PinnedStorage> pin(tensor.storage());
  const PinnedStorage second(*pin);
  const auto grows = [&] { resize_data(tensor, Shape{9}, "add"); };
  CHECK(throws(ErrorKind::runtime, "add(): a storage of 16 bytes cannot grow to 36", grows));
  pin.reset();
  CHECK(throws(ErrorKind::runtime, "while its memory is shared", grows));
  CHECK(tensor.raw_data() == data && tensor.numel() == 4);
  resize_data(tensor, Shape{2, 2}, "add");  // fits
}

TEST(shared_storages_are_found_while_they_live) {
  const Ref<Storage> own = Storage::allocate(1000, Device{});
  std::memset(own->data(), 7, 1000);
  const Ref<Storage> alias = Storage::alias(own);
  SharedStorage::move(*alias, "test");
  CHECK(SharedStorage::holds(*own) && own->data() == alias->data());
  const SharedStorage::Place place = SharedStorage::place(*own);
  CHECK(SharedStorage::open(place, "test") == own);
  // Threads that find and drop the same storage: it is one storage, or a new one on its memory.
  Ref<Storage> large = SharedStorage::allocate(300'000, "test");
  SharedStorage::Place shared = SharedStorage::place(*large);
  shared.descriptor = dup(shared.descriptor);
  static_cast<char*>(large->data())[5] = 9;
  large = Ref<Storage>();
  std::atomic<int> wrong{0};
  const auto open_and_drop = [&] {
    for (int round = 0; round < 20000; ++round) {
      const Ref<Storage> found = SharedStorage::open(shared, "test");
      wrong += static_cast<char*>(found->data())[5] != 9;
    }
  };
  std::thread other(open_and_drop);
  open_and_drop();
  other.join();
  CHECK(wrong == 0);
  close(shared.descriptor);
  CHECK(throws(ErrorKind::runtime, "test: 5000000 bytes at 0 reach outside", [&] {
    SharedStorage::open({place.descriptor, {}, 0, 5'000'000}, "test");
  }));
}

TEST(aliases_make_no_chain) {
  Tensor tensor = arange<float>(Shape{4});
  const Ref<Storage> base = tensor.storage();
  // A chain of these would be taken down by recursion.
  for (int i = 0; i < 1000000; ++i) tensor.impl()->storage = Storage::alias(tensor.storage());
  CHECK(tensor.raw_data() == base->data() && base->use_count() == 2);
  CHECK(throws(ErrorKind::runtime, "shared", [&] { base->grow(17, "test"); }));
  tensor = Tensor();
  base->grow(17, "test");
  CHECK(base->bytes() == 17);
}

TEST(parallel_loops_cover_each_index_once) {
  set_num_threads(4);
  for (const int64_t count : {0, 1, 7, 1000, 100001}) {
    for (const int64_t grain : {1, 3, 1000, 1000000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      parallel_for(5, 5 + count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i - 5)];
      });
      bool once = true;
      for (const auto& each : seen) once &= each == 1;
      CHECK(once);
    }
  }
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<bool> nested_serial{true};
  std::atomic<int> begun{0};
  parallel_for(0, 4, 1, [&](int64_t, int64_t) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    // Nobody takes a second item before each thread has one.
    for (++begun; begun < 4;) std::this_thread::yield();
    const auto self = std::this_thread::get_id();
    int64_t reached = 0;
    parallel_for(0, 100, 1, [&](int64_t begin, int64_t end) {
      if (std::this_thread::get_id() != self || begin != reached) nested_serial = false;
      reached = end;
    });
    if (reached != 100 || !in_parallel_region()) nested_serial = false;
  });
  CHECK(threads.size() == 4 && nested_serial && !in_parallel_region());
  CHECK(throws(ErrorKind::value, "from a thread", [] {
    parallel_for(0, 4, 1, [](int64_t begin, int64_t) {
      if (begin > 0) fail(ErrorKind::value, "from a thread");
    });
  }));
  CHECK(throws(ErrorKind::runtime, "positive", [] { set_num_threads(0); }));
  set_num_threads(2);
}

// Threads in a forked child are beyond what the thread sanitizer supports, and qemu's user mode.
#if !defined(__SANITIZE_THREAD__) && !defined(FLAMBEAU_EMULATED)
/// Parts that wait for each other need a thread each.
void meet(int64_t count) {
  std::atomic<int64_t> arrived{0};
  parallel_for(0, count, 1, [&](int64_t, int64_t) {
    for (++arrived; arrived < count;) std::this_thread::yield();
  });
}

TEST(a_forked_child_has_threads_of_its_own) {
  set_num_threads(4);
  meet(4);  // a thread that still starts may hold a lock of the sanitizer's
  std::atomic<int64_t> sum{0};
  const auto add_up = [&] {
    sum = 0;
    parallel_for(0, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    return sum.load();
  };
  CHECK(add_up() == 1000);
#ifndef __SANITIZE_ADDRESS__
  // Another thread allocates all the time, so that the fork meets held locks. Not under the address
  // sanitizer: its own allocator is not made for that (a child of any such process may hang in it).
  std::jthread busy([](const std::stop_token& stop) {
    while (!stop.stop_requested())
      Storage::allocate(100000, Device{}), Storage::allocate(3 << 20, Device{});
  });
#endif
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      meet(2);
      bool right = add_up() == 1000;
      std::vector<Tensor> tensors;
      for (int64_t i = 1; i < 200; ++i) tensors.push_back(empty(Shape{i * i}));
      fill_data(tensors.back(), 3);
      right = right && item(make_view(tensors.back(), {}, {}, 5)).to<int>() == 3;
      allocator(Backend::cpu).statistics();
      allocator(Backend::cpu).release_cached();
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(num_threads() == 4 && add_up() == 1000);
}
#endif
