#include "block.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "accesses.h"

uint3 threadIdx{}, blockIdx{};
dim3 blockDim, gridDim;

namespace emulated {

namespace {

constexpr size_t kStackBytes = size_t{256} << 10;

/// A stack that threads run on: one after another, until one has to wait.
struct Fiber {
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  ucontext_t context{};
  unsigned thread = 0;  // that waits on it, or runs
  bool is_waiting = false;
};

/// The threads of the block that runs.
struct Block {
  Launch* launch = nullptr;
  std::vector<unsigned> order;  // threads that have not begun start at `next`
  size_t next = 0;
  std::vector<Fiber*> waiting;
  std::vector<Fiber*> idle;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Fiber* running = nullptr;
  ucontext_t scheduler{};
};
Block block;
std::mt19937 shuffling{1};

void set_thread(unsigned thread) {
  const dim3 size = blockDim;
  threadIdx = {thread % size.x, thread / size.x % size.y, thread / (size.x * size.y)};
  block.running->thread = thread;
  accesses::set_thread(thread);
}

/// What a fiber does: the threads that have not begun.
void run_threads() {
  for (;;) {
    while (block.next < block.order.size()) {
      set_thread(block.order[block.next++]);
      block.launch->run_thread();
    }
    swapcontext(&block.running->context, &block.scheduler);
  }
}

Fiber* new_fiber() {
  Fiber* made = block.fibers.emplace_back(std::make_unique<Fiber>()).get();
  getcontext(&made->context);
  made->context.uc_stack.ss_sp = made->stack.get();
  made->context.uc_stack.ss_size = kStackBytes;
  makecontext(&made->context, run_threads, 0);
  return made;
}

Fiber* idle_fiber() {
  if (block.idle.empty()) return new_fiber();
  Fiber* fiber = block.idle.back();
  block.idle.pop_back();
  return fiber;
}

void resume(Fiber* fiber) {
  block.running = fiber;
  swapcontext(&block.scheduler, &fiber->context);
  (fiber->is_waiting ? block.waiting : block.idle).push_back(fiber);
}

void arrange(unsigned threads, Order order) {
  block.order.resize(threads);
  for (unsigned i = 0; i < threads; ++i)
    block.order[i] = order == Order::down ? threads - 1 - i : i;
  if (order == Order::shuffled) std::shuffle(block.order.begin(), block.order.end(), shuffling);
}

void run_block(Order order) {
  arrange(blockDim.x * blockDim.y * blockDim.z, order);
  block.next = 0;
  while (block.next < block.order.size()) resume(idle_fiber());
  while (!block.waiting.empty()) {
    std::vector<Fiber*> arrived;
    arrived.swap(block.waiting);
    if (arrived.size() != block.order.size()) {
      std::fprintf(
          stderr,
          "emulator: %zu of %zu threads wait at a barrier that others do not reach, in %s\n",
          arrived.size(), block.order.size(), block.launch->name);
      std::abort();
    }
    accesses::pass_barrier();
    if (order == Order::down) std::reverse(arrived.begin(), arrived.end());
    if (order == Order::shuffled) std::shuffle(arrived.begin(), arrived.end(), shuffling);
    for (Fiber* fiber : arrived) resume(fiber);
  }
}

}  // namespace

void wait_for_block() {
  Fiber* fiber = block.running;
  fiber->is_waiting = true;
  const unsigned thread = fiber->thread;
  swapcontext(&fiber->context, &block.scheduler);
  fiber->is_waiting = false;
  set_thread(thread);
}

void run(Launch& launch, Order order) {
  block.launch = &launch;
  blockDim = launch.threads;
  gridDim = launch.blocks;
  const accesses::Kernel watched(launch.name);
  for (unsigned z = 0; z < launch.blocks.z; ++z)
    for (unsigned y = 0; y < launch.blocks.y; ++y)
      for (unsigned x = 0; x < launch.blocks.x; ++x) {
        blockIdx = {x, y, z};
        accesses::begin_block(x + launch.blocks.x * (y + launch.blocks.y * z));
        run_block(order);
      }
}

}  // namespace emulated
