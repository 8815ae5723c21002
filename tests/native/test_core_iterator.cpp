// Iterator: geometry, promotion, outputs, overlap.

#include <algorithm>
#include <atomic>

#include "check.h"
#include "core/geometry/broadcast.h"
#include "core/iteration/iterator.h"
#include "core/tensor/overlap.h"
#include "core_tools.h"

using namespace flambeau;
using namespace flambeau::testing;

namespace {
template <class T>
void add_loop(char* const* data, const int64_t* strides, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    *reinterpret_cast<T*>(data[0] + i * strides[0]) =
        *reinterpret_cast<const T*>(data[1] + i * strides[1]) +
        *reinterpret_cast<const T*>(data[2] + i * strides[2]);
}
void run_add(Iterator& iter) {
  if (iter.backend() != Backend::cpu) return;
  switch (iter.common_dtype()) {
    case DType::float32:
      return iter.for_each(add_loop<float>);
    case DType::float64:
      return iter.for_each(add_loop<double>);
    case DType::int64:
      return iter.for_each(add_loop<int64_t>);
    case DType::int32:
      return iter.for_each(add_loop<int32_t>);
    default:
      fail(ErrorKind::type, "the test does not add ", iter.common_dtype());
  }
}
Tensor add(const Operand& a, const Operand& b, const Tensor& out = {}) {
  Iterator iter("add");
  iter.add_output(out);
  iter.add_input(a);
  iter.add_input(b);
  iter.build();
  run_add(iter);
  iter.finish();
  return iter.output(0);
}
Tensor transposed(const Tensor& x) {
  return make_view(x, Shape{x.sizes()[1], x.sizes()[0]}, Shape{x.strides()[1], x.strides()[0]},
                   x.offset());
}
}  // namespace

TEST(the_short_way) {
  const Tensor x = arange<float>(Shape{5, 5});
  const Tensor sum = add(x, x), more = add(x, 1), less = add(-1, x);
  bool right = sum.is_contiguous() && sum.sizes() == Shape({5, 5});
  for (int64_t i = 0; i < 25; ++i) {
    right &= sum.data<float>()[i] == 2 * static_cast<float>(i);
    right &= more.data<float>()[i] == static_cast<float>(i + 1);
    right &= less.data<float>()[i] == static_cast<float>(i - 1);
  }
  CHECK(right);
  add(x, 2, x);
  CHECK(x.data<float>()[24] == 26);
  CHECK(values<float>(add(arange<float>(Shape{}), 1)) == std::vector<float>{1});
  CHECK(add(empty(Shape{0, 3}), 1).sizes() == Shape({0, 3}));
}

TEST(any_shapes_and_layouts) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    const Shape shape = random_shape(random, 5, 6);
    const auto part = [&] {
      Shape result(IntList(shape).subspan(shape.empty() ? 0 : random() % (shape.size() + 1)));
      for (int64_t& size : result)
        if (random() % 4 == 0) size = 1;
      return result;
    };
    const Tensor a = random_layout(random, part(), DType::float32);
    const Tensor b = random_layout(random, part(), DType::float32);
    count_up<float>(a);
    count_up<float>(b);
    const Shape expected_shape = broadcast_shapes(a.sizes(), b.sizes(), "test");
    Tensor out;
    if (random() % 3 == 0) out = random_layout(random, expected_shape, DType::float32);
    const Tensor result = add(a, b, out);
    CHECK(result.sizes() == expected_shape && (!out.defined() || result.is_same(out)));
    bool right = true;
    for_each_index(expected_shape, [&](const Shape& index) {
      right &= at<float>(result, index) == at<float>(a, index) + at<float>(b, index);
    });
    CHECK(right);
    CHECK(out.defined() || is_non_overlapping_dense(result.sizes(), result.strides()));
  }
}

TEST(ranges_cover_everything) {
  const Tensor x = arange<float>(Shape{7, 6, 5});
  const Tensor view = make_view(x, Shape{6, 3, 7}, Shape{5, 2, 30}, 0);
  const Tensor result = empty(Shape{6, 3, 7});
  Iterator iter("add");
  iter.add_output(result);
  iter.add_input(view);
  iter.add_input(1);
  iter.build();
  CHECK(!iter.is_one_run() && iter.numel() == 126);
  for (const int64_t step : {1, 4, 50, 126}) {
    fill_data(result, -1);
    for (int64_t begin = 0; begin < 126; begin += step)
      iter.for_range(add_loop<float>, begin, std::min<int64_t>(begin + step, 126));
    bool right = true;
    for_each_index(result.sizes(), [&](const Shape& index) {
      right &= at<float>(result, index) == at<float>(view, index) + 1;
    });
    CHECK(right);
  }
  set_num_threads(3);
  const Tensor large = arange<float>(Shape{1000, 301});
  const Tensor sum = add(transposed(large), 1);
  CHECK(sum.strides() == Shape({1, 301}) &&
        at<float>(sum, Shape{300, 999}) == at<float>(large, Shape{999, 300}) + 1);
  const Tensor mixed = add(large, transposed(arange<float>(Shape{301, 1000})));
  bool right = true;
  for (int64_t i = 0; i < 1000; i += 37)
    for (int64_t j = 0; j < 301; ++j)
      right &= at<float>(mixed, Shape{i, j}) ==
               static_cast<float>((i * 301 + j) % 100 + (j * 1000 + i) % 100);
  CHECK(right);
}

TEST(dims_merge) {
  const auto rank = [](const Tensor& a, const Tensor& b) {
    Iterator iter("add");
    const Tensor none;
    iter.add_output(none);
    iter.add_input(a);
    iter.add_input(b);
    iter.build();
    return iter.rank();
  };
  const Tensor x = empty(Shape{4, 5, 6});
  CHECK(rank(x, empty(Shape{})) == 1 && rank(x, empty(Shape{6})) == 2);
  CHECK(rank(x, empty(Shape{4, 1, 1})) == 2 && rank(x, empty(Shape{4, 1, 6})) == 3);
  const Tensor turned = make_view(x, Shape{6, 4, 5}, Shape{1, 30, 6}, 0);
  CHECK(rank(turned, turned) == 1 && rank(turned, empty(Shape{6, 4, 5})) == 2);
  CHECK(add(turned, turned).strides() == turned.strides());
  // A size of 1 has no say in the order.
  const Tensor odd = make_view(x, Shape{4, 1, 30}, Shape{30, 1, 1}, 0);
  CHECK(add(odd, 1).is_contiguous() && rank(odd, odd) == 1);
}

TEST(promotion_with_conversion) {
  const Tensor ints = arange<int32_t>(Shape{3}), floats = arange<float>(Shape{2, 3});
  const Tensor sum = add(ints, floats);
  CHECK(sum.dtype() == DType::float32);
  CHECK(values<float>(sum) == std::vector<float>({0, 2, 4, 3, 5, 7}));
  CHECK(add(ints, 1.5).dtype() == DType::float32 && add(ints, 1).dtype() == DType::int32);
  CHECK(values<float>(add(ints, 1.5)) == std::vector<float>({1.5, 2.5, 3.5}));
  const Tensor zero = empty({}, DType::float64);
  fill_data(zero, 0.25);
  CHECK(add(floats, zero).dtype() == DType::float32 &&
        at<float>(add(floats, zero), Shape{0, 0}) == 0.25);
  CHECK(add(ints, zero).dtype() == DType::float64);
  CHECK(add(zero, 1).dtype() == DType::float64);
  CHECK(add(floats, wrap_number(0.5)).dtype() == DType::float32);
  Iterator iter("div");
  const Tensor none;
  iter.add_output(none);
  iter.add_input(ints);
  iter.add_input(ints);
  iter.build({.promoted = 3, .integers_to_float = true});
  CHECK(iter.common_dtype() == DType::float32 && iter.dtype(1) == DType::float32);
  // An operand that takes no part keeps its dtype.
  Iterator where("where");
  const Tensor condition = empty(Shape{3}, DType::bool_);
  where.add_output(none);
  where.add_input(condition);
  where.add_input(ints);
  where.add_input(Operand(2.5));
  where.build({.promoted = 0b110});
  CHECK(where.dtype(1) == DType::bool_ && where.dtype(2) == DType::float32);
  CHECK(*reinterpret_cast<float*>(where.data(3)) == 2.5f);
  // Declared result dtypes.
  Iterator less("lt");
  less.add_output(none, DType::bool_);
  less.add_input(ints);
  less.add_input(floats);
  less.build();
  CHECK(less.output(0).dtype() == DType::bool_ && less.common_dtype() == DType::float32);
}

TEST(fixed_by_the_caller) {
  const Tensor x = arange<float>(Shape{3}), none;
  Iterator iter("add");
  iter.add_output(none);
  iter.add_input(x);
  iter.add_input(1);
  iter.set_common_dtype(DType::float64);
  iter.set_shape(Shape{2, 3});
  iter.build();
  run_add(iter);
  CHECK(values<double>(iter.output(0)) == std::vector<double>({1, 2, 3, 1, 2, 3}));
  Iterator bad("add");
  bad.add_output(none);
  bad.add_input(x);
  bad.set_shape(Shape{2});
  CHECK(throws(ErrorKind::runtime, "add", [&] { bad.build(); }));
  // Nothing but an output: it gives shape and dtype.
  const Tensor out = empty(Shape{4, 2}, DType::int64);
  Iterator nullary("arange");
  nullary.add_output(out);
  nullary.build();
  CHECK(nullary.numel() == 8 && nullary.common_dtype() == DType::int64);
}

TEST(outputs_of_the_caller) {
  const Tensor x = arange<float>(Shape{2, 3});
  const Tensor wide = empty(Shape{2, 3}, DType::float64);
  CHECK(add(x, 1, wide).is_same(wide) && values<double>(wide)[5] == 6);
  const Tensor resized = empty(Shape{0});
  CHECK(add(x, 1, resized).is_same(resized) && resized.sizes() == Shape({2, 3}));
  CHECK(values<float>(resized)[5] == 6);
  CHECK(throws(ErrorKind::runtime, "argument out has shape [3], expected [2, 3]",
               [&] { add(x, 1, empty(Shape{3})); }));
  CHECK(throws(ErrorKind::runtime, "float32 cannot be written", [&] {
    add(x, 1, empty(Shape{2, 3}, DType::int32));
  }));
  const Tensor row = arange<float>(Shape{3});
  CHECK(throws(ErrorKind::runtime, "[3] cannot be written in place", [&] { add(row, x, row); }));
  const Tensor nothing = empty(Shape{0});
  CHECK(throws(ErrorKind::runtime, "in place", [&] { add(nothing, empty(Shape{3, 0}), nothing); }));
  const Tensor expanded = make_view(row, Shape{4, 3}, Shape{0, 1}, 0);
  CHECK(throws(ErrorKind::runtime, "share memory", [&] { add(expanded, 1, expanded); }));
  CHECK(throws(ErrorKind::runtime, "[2, 3] and [4]", [&] { add(x, empty(Shape{4})); }));
  // An integer tensor in place with floats of its own category is converted back.
  const Tensor low = arange<float>(Shape{3});
  add(low, arange<double>(Shape{3}), low);
  CHECK(values<float>(low) == std::vector<float>({0, 2, 4}));
}

TEST(overlap_of_input_and_output) {
  const Tensor base = arange<float>(Shape{10});
  const Tensor head = make_view(base, Shape{9}, Shape{1}, 0),
               tail = make_view(base, Shape{9}, Shape{1}, 1);
  add(head, 1, tail);
  CHECK(values<float>(base) == std::vector<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const Tensor square = arange<float>(Shape{3, 3});
  add(transposed(square), square, square);
  CHECK(values<float>(square) == std::vector<float>({0, 4, 8, 4, 8, 12, 8, 12, 16}));
  const Tensor even = make_view(base, Shape{5}, Shape{2}, 0),
               odd = make_view(base, Shape{5}, Shape{2}, 1);
  CHECK(!may_overlap(even, odd) && may_overlap(head, tail) && may_overlap(base, odd));
  const Tensor none;
  Iterator iter("two");
  iter.add_output(head);
  iter.add_output(tail);
  iter.add_input(head);
  CHECK(throws(ErrorKind::runtime, "share memory", [&] { iter.build(); }));
}

TEST(internal_overlap) {
  const Tensor base = empty(Shape{100});
  const auto overlaps = [&](Shape sizes, Shape strides) {
    return has_internal_overlap(make_view(base, sizes, strides, 0));
  };
  CHECK(overlaps({2}, {0}) && !overlaps({1}, {0}) && !overlaps({0, 3}, {0, 0}));
  CHECK(overlaps({3, 3}, {1, 2}) && overlaps({4, 3}, {2, 1}) && !overlaps({4, 2}, {2, 1}));
  CHECK(!overlaps({2, 3}, {3, 2}) && !overlaps({3, 4}, {1, 3}) && overlaps({2, 2}, {1, 1}));
  CHECK(is_non_overlapping_dense(Shape{2, 3}, Shape{1, 2}));
  CHECK(!is_non_overlapping_dense(Shape{2, 3}, Shape{1, 3}));
  CHECK(is_non_overlapping_dense(Shape{2, 1, 3}, Shape{3, 77, 1}));
}

TEST(in_and_out) {
  const Tensor parameter = arange<float>(Shape{3}), average = arange<float>(Shape{3});
  const Tensor gradient = arange<float>(Shape{3});
  Iterator iter("step");
  iter.add_in_out(parameter);
  iter.add_in_out(average);
  iter.add_input(gradient);
  iter.build();
  CHECK(iter.output_count() == 2 && iter.data(0) == parameter.data<char>());
  Iterator mixed("step");
  const Tensor doubles = arange<double>(Shape{3});
  mixed.add_in_out(parameter);
  mixed.add_input(doubles);
  CHECK(throws(ErrorKind::runtime, "float64", [&] { mixed.build(); }));
  Iterator grown("step");
  const Tensor matrix = arange<float>(Shape{2, 3});
  grown.add_in_out(parameter);
  grown.add_input(matrix);
  CHECK(throws(ErrorKind::runtime, "in place", [&] { grown.build(); }));
}

TEST(meta_and_mixed_devices) {
  const Device meta{Backend::meta};
  const Tensor x = empty(Shape{2, 1}, DType::float32, meta),
               y = empty(Shape{3}, DType::int64, meta);
  const Tensor sum = add(x, y);
  CHECK(sum.device() == meta && sum.sizes() == Shape({2, 3}) && sum.dtype() == DType::float32);
  CHECK(add(x, 1.5).device() == meta);
  const Tensor zero = empty({}, DType::float64);
  fill_data(zero, 2);
  CHECK(add(zero, x).device() == meta && add(zero, x).dtype() == DType::float32);
  CHECK(throws(ErrorKind::runtime, "one device", [&] { add(x, empty(Shape{1})); }));
  CHECK(throws(ErrorKind::runtime, "one device", [&] { add(x, x, empty(Shape{2, 1})); }));
}

TEST(too_many_dims_to_walk) {
  // 18 dims of size 2 in an order that merges nothing.
  Shape sizes(18, 2);
  const Tensor a = arange<float>(sizes), b = arange<float>(sizes);
  Shape strides(18, 1);
  for (size_t d = 0; d < 18; ++d) strides[d] = a.strides()[(d * 7) % 18];
  const Tensor turned = make_view(b, sizes, strides, 0);
  const Tensor out = make_view(
      empty(Shape{1 << 19}), sizes,
      [&] {
        Shape doubled(18, 1);
        for (size_t d = 0; d < 18; ++d) doubled[d] = 2 * a.strides()[(d * 5) % 18];
        return doubled;
      }(),
      0);
  for (const Tensor& given : {Tensor(), out}) {
    const Tensor sum = add(a, turned, given);
    bool right = true;
    for_each_index(sizes, [&](const Shape& index) {
      right &= at<float>(sum, index) == at<float>(a, index) + at<float>(turned, index);
    });
    CHECK(right);
  }
}

TEST(work_is_split_by_cost) {
  set_num_threads(3);
  const Tensor x = empty(Shape{kGrain}), none;
  Iterator iter("exp");
  iter.add_output(none);
  iter.add_input(x);
  iter.build();
  const auto pieces = [&](int64_t cost) {
    std::atomic<int> count{0};
    iter.for_each([&](char* const*, const int64_t*, int64_t) { ++count; }, cost);
    return count.load();
  };
  // A thread takes its share in chunks.
  CHECK(pieces(1) == 1 && pieces(2) == 2 && pieces(100) >= 3);
}
