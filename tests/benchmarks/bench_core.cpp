// Costs of the smallest things, in nanoseconds. Run by hand.

#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/iteration/iterator.h"

using namespace flambeau;

template <class Body>
void report(const char* name, int64_t repeat, const Body& body) {
  double best = 1e300;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < repeat; ++i) body();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / static_cast<double>(repeat));
  }
  std::printf("%-44s %12.1f ns\n", name, best);
}

int main() {
  const Shape small{5, 5};
  const Tensor x = empty(small), y = empty(small), row = empty(Shape{5});
  fill_data(x, 1), fill_data(y, 2), fill_data(row, 3);
  report("empty 5x5", 1000000, [&] { empty(small); });
  report("allocate storage 100 B", 1000000, [&] { Storage::allocate(100, Device{}); });
  const auto add = [](char* const* data, const int64_t* strides, int64_t count) {
    auto* out = reinterpret_cast<float*>(data[0]);
    for (int64_t i = 0; i < count; ++i)
      out[i] = *reinterpret_cast<float*>(data[1] + i * strides[1]) +
               *reinterpret_cast<float*>(data[2] + i * strides[2]);
  };
  const Tensor none;
  report("iterator x + 1, 5x5 (build, output)", 1000000, [&] {
    Iterator iter("add");
    iter.add_output(none);
    iter.add_input(x);
    iter.add_input(Operand(1.0));
    iter.build();
  });
  report("iterator x + 1, 5x5 (with loop)", 1000000, [&] {
    Iterator iter("add");
    iter.add_output(none);
    iter.add_input(x);
    iter.add_input(Operand(1.0));
    iter.build();
    iter.for_each(add);
  });
  report("iterator x + y, 5x5 (build, output)", 1000000, [&] {
    Iterator iter("add");
    iter.add_output(none);
    iter.add_input(x);
    iter.add_input(y);
    iter.build();
  });
  report("iterator x += y, 5x5 (build)", 1000000, [&] {
    Iterator iter("add");
    iter.add_output(x);
    iter.add_input(x);
    iter.add_input(y);
    iter.build();
  });
  report("iterator x + row, 5x5 (general build)", 1000000, [&] {
    Iterator iter("add");
    iter.add_output(none);
    iter.add_input(x);
    iter.add_input(row);
    iter.build();
  });
  report("make_view 5x5 transposed", 1000000, [&] { make_view(x, Shape{5, 5}, Shape{1, 5}, 0); });
  report("allocate storage 100 KB", 1000000, [&] { Storage::allocate(100000, Device{}); });
  report("allocate storage 10 MB (cached)", 100000, [&] { Storage::allocate(10000000, Device{}); });
  const size_t big = size_t{64} << 20;
  report("64 MiB fresh, touched", 3, [&] {
    allocator(Backend::cpu).release_cached();
    const Ref<Storage> storage = Storage::allocate(big, Device{});
    std::memset(storage->data(), 1, big);
  });
  report("64 MiB reused, touched", 3, [&] {
    const Ref<Storage> storage = Storage::allocate(big, Device{});
    std::memset(storage->data(), 1, big);
  });
  const int64_t n = 2048;
  const Tensor a = empty(Shape{n, n}), b = empty(Shape{n, n});
  fill_data(a, 1);
  fill_data(b, 1);
  const Tensor at = make_view(a, Shape{n, n}, Shape{1, n}, 0);
  report("copy 2048x2048 float32", 20, [&] { copy_data(b, a); });
  report("copy 2048x2048 float32 transposed", 20, [&] { copy_data(b, at); });
  const Tensor half = empty(Shape{n, n}, DType::float16), wide = empty(Shape{n, n}, DType::float64);
  report("float32 -> float16 2048x2048", 20, [&] { copy_data(half, a); });
  report("float16 -> float32 2048x2048", 20, [&] { copy_data(a, half); });
  report("float32 -> float64 2048x2048", 20, [&] { copy_data(wide, a); });
  report("float32.T -> float64 2048x2048", 20, [&] { copy_data(wide, at); });
  report("fill 2048x2048", 20, [&] { fill_data(a, 1); });
}
