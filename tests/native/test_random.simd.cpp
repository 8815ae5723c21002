/// The random number generator: published values of Philox4x32-10, distributions, and that numbers
/// depend on the element only.

#include <algorithm>
#include <limits>

#include "check.h"
#include "core/iteration/iterator.h"
#include "core/random/generator.h"
#include "cpu/loops.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Known answers of the Random123 distribution.
TEST(philox_known_answers) {
  const auto equals = [](RandomWords a, RandomWords b) {
    return std::equal(a.word, a.word + 4, b.word);
  };
  CHECK(equals(philox(0, 0, {{0, 0, 0, 0}}), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  CHECK(equals(philox(~0u, ~0u, {{~0u, ~0u, ~0u, ~0u}}),
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  CHECK(equals(philox(0xa4093822, 0x299f31d0, {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}),
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

template <class T, class Draw>
Tensor draw(int64_t n, const RandomStream& stream, int64_t stride = 1) {
  const Tensor storage = empty(Shape{n * stride}, dtype_of<T>, Device{});
  const Tensor out = make_view(storage, Shape{n}, Shape{stride}, 0);
  Iterator iter("draw");
  iter.add_output(out);
  iter.set_common_dtype(dtype_of<T>);
  iter.build({.promoted = 0});
  map_random<Outs<T>, Draws<Draw>, Ins<>>(iter, stream,
                                          [](typename Draw::Value x) { return static_cast<T>(x); });
  return out;
}

/// Mean and variance, within five standard errors, and the part below `median`.
template <class T>
void check_moments(const Tensor& tensor, double mean, double variance, double median) {
  const double n = static_cast<double>(tensor.numel());
  double sum = 0, squares = 0, below = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double x = static_cast<double>(tensor.data<T>()[i]);
    sum += x;
    squares += (x - mean) * (x - mean);
    below += x < median;
  }
  CHECK_CLOSE(sum / n, mean, 5 * std::sqrt(variance / n));
  CHECK_CLOSE(squares / n, variance, 5 * variance * std::sqrt(2 / n));
  CHECK_CLOSE(below / n, 0.5, 5 * 0.5 / std::sqrt(n));
}

TEST(distributions) {
  constexpr int64_t kCount = 1 << 20;
  check_moments<float>(draw<float, Uniform<float>>(kCount, {1, 0}), 0.5, 1. / 12, 0.5);
  check_moments<double>(draw<double, Uniform<double>>(kCount, {2, 0}), 0.5, 1. / 12, 0.5);
  check_moments<float>(draw<float, Normal<float>>(kCount, {3, 7}), 0, 1, 0);
  check_moments<double>(draw<double, Normal<double>>(kCount, {4, 7}), 0, 1, 0);
  const Tensor uniform = draw<float, Uniform<float>>(kCount, {5, 0});
  const auto [low, high] =
      std::minmax_element(uniform.data<float>(), uniform.data<float>() + kCount);
  CHECK(*low >= 0 && *low < 1e-4 && *high < 1 && *high > 0.9999);
  // Kurtosis of the normal distribution: 3.
  const Tensor normal = draw<float, Normal<float>>(kCount, {6, 0});
  double fourth = 0;
  for (int64_t i = 0; i < kCount; ++i) fourth += std::pow(normal.data<float>()[i], 4);
  CHECK_CLOSE(fourth / kCount, 3, 0.1);
}

template <class T, class Draw>
void check_prefix() {
  const RandomStream stream{42, 1000};
  const Tensor all = draw<T, Draw>(200003, stream);
  for (const int64_t n : {1, 2, 3, 5, 100, 1023, 1025, 70001}) {
    const Tensor part = draw<T, Draw>(n, stream), gaps = draw<T, Draw>(n, stream, 3);
    CHECK(std::equal(part.data<T>(), part.data<T>() + n, all.data<T>()));
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) wrong += gaps.data<T>()[3 * i] != all.data<T>()[i];
    CHECK(wrong == 0);
  }
  set_num_threads(1);
  const Tensor serial = draw<T, Draw>(200003, stream);
  set_num_threads(3);
  const Tensor threads = draw<T, Draw>(200003, stream);
  set_num_threads(2);
  CHECK(std::equal(all.data<T>(), all.data<T>() + 200003, serial.data<T>()));
  CHECK(std::equal(all.data<T>(), all.data<T>() + 200003, threads.data<T>()));
}
TEST(depends_on_the_element_only) {
  check_prefix<float, Uniform<float>>();
  check_prefix<double, Uniform<double>>();
  check_prefix<float, Normal<float>>();
  check_prefix<double, Normal<double>>();
  check_prefix<int64_t, Bits>();
}

TEST(matches_the_scalar_functions) {
  const RandomStream stream{0x123456789abcdefu, 77};
  const Tensor out = draw<float, Uniform<float>>(1000, stream);
  for (int64_t i = 0; i < 1000; ++i) {
    const RandomWords words = random_words(stream, static_cast<uint64_t>(i / 4), 0);
    CHECK(out.data<float>()[i] == uniform_float(words.word[i % 4]));
  }
}

TEST(generator) {
  Generator generator(5);
  CHECK(generator.initial_seed() == 5);
  CHECK(generator.reserve(counters_for(7)).offset == 0);
  const Generator::State state = generator.state();
  const RandomStream next = generator.reserve(10);
  CHECK(next.seed == 5 && next.offset == 4);
  generator.manual_seed(9);
  CHECK(generator.reserve(1).seed == 9 && generator.reserve(1).offset == 1);
  generator.set_state(state);
  CHECK(generator.initial_seed() == 5 && generator.reserve(1).offset == 4);
}

TEST(integers_fill_their_range) {
  constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
  CHECK(integer_in_range(0, -3, 5) == -3);
  CHECK(integer_in_range(uint64_t{1} << 63, -3, 5) == -1);
  CHECK(integer_in_range(~uint64_t{0}, -3, 5) == 1);
  CHECK(integer_in_range(~uint64_t{0}, lowest, ~uint64_t{0}) == -(lowest + 1) - 1);
  CHECK(integer_in_range(12345, 7, 1) == 7);
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
