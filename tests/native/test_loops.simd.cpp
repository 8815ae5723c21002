/// The drivers of pointwise and reduction loops, against element-by-element loops over every
/// layout.

#include <cstring>

#include "check.h"
#include "core/iteration/iterator.h"
#include "core/iteration/reduction.h"
#include "cpu/loops.h"
#include "cpu/math.h"
#include "cpu/reduce.h"

#include "core/math/extrema.h"
#include "core/math/rounding.h"
#include "core/math/signs.h"
#include "core/math/trigonometry.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class T>
Tensor sequence(const Shape& sizes, double scale = 1) {
  const Tensor tensor = empty(sizes, dtype_of<T>, Device{});
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double value = static_cast<double>((i * 7919) % 1009 - 300) * scale;
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      tensor.data<T>()[i] = T(static_cast<float>(value));
    } else {
      tensor.data<T>()[i] = static_cast<T>(value);
    }
  }
  return tensor;
}

Tensor strided(const Tensor& base, const Shape& sizes, const Shape& strides, int64_t offset = 0) {
  return make_view(base, sizes, strides, offset);
}

/// The element at a row-major position of a tensor of any layout.
template <class T>
T& at(const Tensor& tensor, int64_t index) {
  int64_t offset = 0;
  for (int64_t d = tensor.dim() - 1; d >= 0; --d) {
    offset += index % tensor.sizes()[d] * tensor.strides()[d];
    index /= tensor.sizes()[d];
  }
  return tensor.data<T>()[offset];
}

template <class T>
void check_add(const Tensor& out, const Tensor& a, const Tensor& b) {
  Iterator iter("add");
  iter.add_output(out);
  iter.add_input(a);
  iter.add_input(b);
  iter.build({.promoted = 3});
  map<Outs<T>, Ins<T, T>>(iter, [](Compute<T> x, Compute<T> y) { return x + y; });
  iter.finish();
  int64_t wrong = 0;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const auto sum = static_cast<Compute<T>>(at<T>(a, i)) + static_cast<Compute<T>>(at<T>(b, i));
    const T expected = static_cast<T>(sum);
    if (memcmp(&at<T>(out, i), &expected, sizeof(T)) != 0) ++wrong;
  }
  CHECK(wrong == 0);
}

template <class T>
void check_layouts() {
  const Tensor base = sequence<T>({70000});
  const auto fresh = [](const Shape& sizes) { return empty(sizes, dtype_of<T>, Device{}); };
  for (const int64_t n : {0, 1, 7, 25, 1023, 1024, 1025, 5000, 66000}) {
    check_add<T>(fresh({n}), strided(base, {n}, {1}), strided(base, {n}, {1}, 3));
    check_add<T>(fresh({n}), strided(base, {n}, {1}), strided(base, {n}, {0}, 5));
    if (n < 30000) check_add<T>(fresh({n}), strided(base, {n}, {2}), strided(base, {n}, {1}, 3));
  }
  // Rows and columns broadcast, transposed operands, gaps between rows, short and long rows.
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{3, 5}, {100, 3}, {3, 1000}, {200, 300}, {37, 64}, {1, 400}}) {
    const Shape sizes{rows, columns};
    const Tensor dense = strided(base, sizes, {columns, 1});
    const Tensor transposed = strided(base, sizes, {1, rows}, 11);
    check_add<T>(fresh(sizes), dense, strided(base, sizes, {0, 1}, 9));
    check_add<T>(fresh(sizes), dense, strided(base, sizes, {1, 0}, 9));
    check_add<T>(fresh(sizes), dense, transposed);
    check_add<T>(fresh(sizes), strided(base, sizes, {columns + 3, 1}), transposed);
    check_add<T>(strided(fresh({columns, rows}), sizes, {1, rows}), dense, transposed);
    check_add<T>(strided(fresh({rows, columns + 5}), sizes, {columns + 5, 1}), dense, dense);
    check_add<T>(strided(fresh({rows * columns * 2}), sizes, {columns * 2, 2}), dense, dense);
  }
  check_add<T>(fresh({4, 5, 6, 7}), strided(base, {4, 5, 6, 7}, {1, 4, 20, 120}),
               strided(base, {4, 5, 6, 7}, {0, 7, 0, 1}));
}

TEST(layouts_float32) { check_layouts<float>(); }
TEST(layouts_float64) { check_layouts<double>(); }
TEST(layouts_float16) { check_layouts<float16>(); }
TEST(layouts_bfloat16) { check_layouts<bfloat16>(); }
TEST(layouts_uint8) { check_layouts<uint8_t>(); }
TEST(layouts_int16) { check_layouts<int16_t>(); }
TEST(layouts_int64) { check_layouts<int64_t>(); }
TEST(layouts_complex128) { check_layouts<complex<double>>(); }

TEST(bool_results) {
  const Tensor a = sequence<float>({3000}), b = sequence<float>({3000}, -1);
  const Tensor out = empty(Shape{3000}, DType::bool_, Device{});
  Iterator iter("lt");
  iter.add_output(out, DType::bool_);
  iter.add_input(a);
  iter.add_input(b);
  iter.build({.promoted = 3});
  map<Outs<bool>, Ins<float, float>>(iter, [](float x, float y) { return x < y; });
  for (int64_t i = 0; i < 3000; ++i)
    CHECK(out.data<bool>()[i] == (a.data<float>()[i] < b.data<float>()[i]));
}

template <class T>
void check_in_out(const Shape& strides) {
  const Tensor base = sequence<T>({400000}, 0.01), copy = sequence<T>({400000}, 0.01);
  const Shape sizes{50, 60};
  const Tensor param = strided(base, sizes, strides), before = strided(copy, sizes, strides);
  const Tensor grad = sequence<T>(sizes, 0.5), norm = empty(sizes, dtype_of<T>, Device{});
  Iterator iter("step");
  iter.add_in_out(param);
  iter.add_output(norm);
  iter.add_input(grad);
  iter.build({.promoted = 1});
  using C = Compute<T>;
  map<Outs<InOut<T>, T>, Ins<T>>(iter, [](C& p, C& n, C g) {
    n = g * g;
    p = p - C(0.5) * g;
  });
  for (int64_t i = 0; i < param.numel(); ++i) {
    const C g = static_cast<C>(at<T>(grad, i));
    CHECK(static_cast<C>(at<T>(param, i)) == C(T(static_cast<C>(at<T>(before, i)) - C(0.5) * g)));
    CHECK(static_cast<C>(at<T>(norm, i)) == C(T(g * g)));
  }
}
TEST(in_out) {
  for (const Shape& strides : {Shape{60, 1}, Shape{1, 50}, Shape{130, 2}}) {
    check_in_out<float>(strides);
    check_in_out<float16>(strides);
    check_in_out<double>(strides);
  }
}

TEST(indexed) {
  const Tensor out = empty(Shape{100000}, DType::int64, Device{});
  Iterator iter("arange");
  iter.add_output(out);
  iter.set_common_dtype(DType::int64);
  iter.build({.promoted = 0});
  map_indexed<Outs<int64_t>, Ins<>>(iter, [](int64_t i) { return 3 * i + 1; });
  int64_t wrong = 0;
  for (int64_t i = 0; i < 100000; ++i) wrong += out.data<int64_t>()[i] != 3 * i + 1;
  CHECK(wrong == 0);
}

TEST(integer_division_by_zero_throws) {
  const Tensor a = sequence<int32_t>({100000}), out = empty(Shape{100000}, DType::int32, Device{});
  Iterator iter("floor_divide");
  iter.add_output(out);
  iter.add_input(a);
  iter.add_input(a);  // has zeros
  iter.build({.promoted = 3});
  CHECK_THROWS(map<Outs<int32_t>, Ins<int32_t, int32_t>>(
      iter, [](int32_t x, int32_t y) { return math::floor_divide(x, y); }, 4));
}

TEST(results_do_not_depend_on_the_place) {
  const Tensor all = sequence<float>({5000}, 0.013);
  const auto compute = [](const Tensor& input) {
    const Tensor out = empty(input.sizes(), DType::float32, Device{});
    Iterator iter("f");
    iter.add_output(out);
    iter.add_input(input);
    iter.build({.promoted = 1});
    map<Outs<float>, Ins<float>>(
        iter, [](float x) { return math::log(math::abs(x)) + math::tanh(x) * math::sin(x); }, 30);
    return out;
  };
  const Tensor whole = compute(all);
  for (const int64_t begin : {0, 1, 9, 4000})
    for (const int64_t count : {1, 3, 17, 900}) {
      const Tensor part = compute(strided(all, {count}, {1}, begin));
      CHECK(memcmp(part.data<float>(), whole.data<float>() + begin,
                   static_cast<size_t>(count) * sizeof(float)) == 0);
    }
}

// --- reductions ---

template <class T, class A>
struct SumFold {
  using Accumulator = A;
  A init() const { return A(0); }
  A step(A acc, T x) const { return acc + A(x); }
  A combine(A a, A b) const { return a + b; }
  A finish(A acc, int64_t) const { return acc; }
};
template <class T>
struct MaxFold {
  using Accumulator = T;
  T init() const { return -std::numeric_limits<T>::infinity(); }
  T step(T acc, T x) const { return math::maximum(acc, x); }
  T combine(T a, T b) const { return math::maximum(a, b); }
  T finish(T acc, int64_t) const { return acc; }
};
/// Two results.
template <class T>
struct MeanRangeFold {
  struct Accumulator {
    double sum;
    T low, high;
  };
  Accumulator init() const { return {0, T(1e6), T(-1e6)}; }
  Accumulator step(Accumulator a, T x) const {
    return {a.sum + static_cast<double>(x), x < a.low ? x : a.low, x > a.high ? x : a.high};
  }
  Accumulator combine(Accumulator a, Accumulator b) const {
    return {a.sum + b.sum, b.low < a.low ? b.low : a.low, b.high > a.high ? b.high : a.high};
  }
  void finish(Accumulator a, int64_t n, double& mean, T& range) const {
    mean = a.sum / static_cast<double>(n);
    range = a.high - a.low;
  }
};

/// Sums over the dims in `mask`, one element at a time, in double.
template <class T>
std::vector<double> reference_sums(const Tensor& tensor, uint64_t mask) {
  int64_t kept = 1;
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (!(mask >> d & 1)) kept *= tensor.sizes()[d];
  std::vector<double> sums(static_cast<size_t>(kept), 0);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    int64_t rest = i, place = 0, weight = 1;
    for (int64_t d = tensor.dim() - 1; d >= 0; --d) {
      if (!(mask >> d & 1)) {
        place += rest % tensor.sizes()[d] * weight;
        weight *= tensor.sizes()[d];
      }
      rest /= tensor.sizes()[d];
    }
    sums[static_cast<size_t>(place)] +=
        static_cast<double>(static_cast<Compute<T>>(at<T>(tensor, i)));
  }
  return sums;
}

template <class T, class A>
void check_sums(const Tensor& tensor) {
  for (uint64_t mask = 1; mask < (1ull << tensor.dim()); ++mask) {
    Shape dims;
    for (int64_t d = 0; d < tensor.dim(); ++d)
      if (mask >> d & 1) dims.push_back(d);
    Reduction reduction("sum");
    reduction.add_output(dtype_of<A>);
    reduction.build(tensor, IntList(dims), false);
    reduce<A, T>(reduction, SumFold<Compute<T>, A>{});
    reduction.finish();
    const std::vector<double> expected = reference_sums<T>(tensor, mask);
    CHECK(reduction.output().numel() == static_cast<int64_t>(expected.size()));
    int64_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double value = static_cast<double>(reduction.output().template data<A>()[i]);
      wrong += std::fabs(value - expected[i]) > 1e-6 * (std::fabs(expected[i]) + 1000);
    }
    CHECK(wrong == 0);
  }
}

template <class T, class A>
void check_reduce_layouts() {
  const Tensor base = sequence<T>({140000});
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                      {5, 5},
                                      {1000, 3},
                                      {3, 1000},
                                      {1000, 30},
                                      {30, 1000},
                                      {300, 301},
                                      {2, 50000},
                                      {50000, 2},
                                      {0, 4},
                                      {4, 0}}) {
    check_sums<T, A>(strided(base, {rows, columns}, {columns, 1}));
    check_sums<T, A>(strided(base, {rows, columns}, {1, rows}));
    if (rows * (columns + 3) < 70000)
      check_sums<T, A>(strided(base, {rows, columns}, {columns + 3, 1}));
    check_sums<T, A>(strided(base, {rows, columns}, {0, 1}));
    check_sums<T, A>(strided(base, {rows, columns}, {1, 0}));
  }
  check_sums<T, A>(strided(base, {6, 7, 8, 9}, {504, 72, 9, 1}));
  check_sums<T, A>(strided(base, {6, 7, 8, 9}, {1, 6, 42, 336}));
  check_sums<T, A>(strided(base, {6, 17, 8, 9}, {9, 500, 54, 1}));
  check_sums<T, A>(strided(base, {40, 20, 30}, {600, 30, 1}));
}
TEST(sums_float32) { check_reduce_layouts<float, float>(); }
TEST(sums_float64) { check_reduce_layouts<double, double>(); }
TEST(sums_float16) { check_reduce_layouts<float16, float>(); }
TEST(sums_bfloat16) { check_reduce_layouts<bfloat16, float>(); }
TEST(sums_int32) { check_reduce_layouts<int32_t, int64_t>(); }
TEST(sums_uint8) { check_reduce_layouts<uint8_t, int64_t>(); }

Tensor uniform_floats(const Shape& sizes) {
  const Tensor tensor = empty(sizes, DType::float32, Device{});
  uint32_t state = 12345;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    tensor.data<float>()[i] = static_cast<float>(state >> 8) * 0x1p-24f;
  }
  return tensor;
}

TEST(float32_sums_are_accurate) {
  const Tensor tensor = uniform_floats({4096, 4096});
  double exact = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) exact += tensor.data<float>()[i];
  for (const Shape& sizes : {Shape{4096 * 4096}, Shape{4096 * 4096, 1}, Shape{4096 * 2048, 2}}) {
    const Tensor view = sizes.size() == 1 ? tensor : strided(tensor, sizes, {sizes[1], 1});
    Reduction reduction("sum");
    reduction.add_output(DType::float32);
    reduction.build(view, Shape{0}, false);
    reduce<float, float>(reduction, SumFold<float, float>{});
    double sum = 0;
    for (int64_t i = 0; i < reduction.output().numel(); ++i)
      sum += reduction.output().data<float>()[i];
    CHECK_CLOSE(sum / exact, 1, 2e-7);
  }
}

TEST(order_does_not_depend_on_threads) {
  const Tensor tensor = uniform_floats({4000, 1001});
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3, 5}) {
    set_num_threads(threads);
    std::vector<float> values;
    for (const Shape& dims : {Shape{0}, Shape{1}, Shape{0, 1}}) {
      Reduction reduction("sum");
      reduction.add_output(DType::float32);
      reduction.build(tensor, IntList(dims), false);
      reduce<float, float>(reduction, SumFold<float, float>{});
      const float* data = reduction.output().data<float>();
      values.insert(values.end(), data, data + reduction.output().numel());
    }
    results.push_back(values);
  }
  for (const auto& each : results) CHECK(each == results[0]);
  set_num_threads(2);
}

TEST(max_keeps_nan) {
  for (const int64_t place : {0, 5, 77, 4999}) {
    const Tensor tensor = uniform_floats({5000});
    tensor.data<float>()[place] = NAN;
    Reduction reduction("max");
    reduction.add_output(DType::float32);
    reduction.build(tensor, std::nullopt, false);
    reduce<float, float>(reduction, MaxFold<float>{});
    CHECK(std::isnan(reduction.output().data<float>()[0]));
  }
}

TEST(two_results) {
  const Tensor tensor = sequence<float>({50, 77});
  for (const int64_t dim : {0, 1}) {
    Reduction reduction("mean_range");
    reduction.add_output(DType::float64);
    reduction.add_output(DType::float32);
    reduction.build(tensor, Shape{dim}, true);
    reduce<Outs<double, float>, float>(reduction, MeanRangeFold<float>{});
    const int64_t kept = dim == 0 ? 77 : 50, reduced = dim == 0 ? 50 : 77;
    for (int64_t o = 0; o < kept; ++o) {
      double sum = 0;
      float low = 1e6f, high = -1e6f;
      for (int64_t r = 0; r < reduced; ++r) {
        const float x = at<float>(tensor, dim == 0 ? r * 77 + o : o * 77 + r);
        sum += x;
        low = std::min(low, x);
        high = std::max(high, x);
      }
      CHECK_CLOSE(reduction.output(0).data<double>()[o], sum / static_cast<double>(reduced), 1e-9);
      CHECK(reduction.output(1).data<float>()[o] == high - low);
    }
  }
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
