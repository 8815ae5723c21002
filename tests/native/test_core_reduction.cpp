// Reduction geometry: sums walked through it against sums by index.

#include "check.h"
#include "core/iteration/reduction.h"
#include "core_tools.h"

using namespace flambeau;
using namespace flambeau::testing;

namespace {
void sum(Reduction& reduction) {
  reduction.for_each_output(
      0, reduction.output_numel(), [&](const char* input, char* const* outputs) {
        double total = 0;
        // In two parts, so that ranges that begin inside are walked.
        const int64_t middle = reduction.count() / 3;
        const auto add = [&](const char* data, int64_t stride, int64_t count) {
          for (int64_t i = 0; i < count; ++i)
            total += *reinterpret_cast<const float*>(data + i * stride);
        };
        reduction.for_each_reduced_run(input, 0, middle, add);
        reduction.for_each_reduced_run(input, middle, reduction.count(), add);
        for (int i = 0; i < reduction.output_count(); ++i)
          *reinterpret_cast<float*>(outputs[i]) = static_cast<float>(total);
      });
}
Reduction::Kind kind(const Tensor& x, std::optional<IntList> dims, bool keepdim = false) {
  Reduction reduction("sum");
  reduction.add_output(DType::float32);
  reduction.build(x, dims, keepdim);
  return reduction.kind();
}
}  // namespace

TEST(any_dims_and_layouts) {
  std::mt19937 random(23);
  for (int round = 0; round < 4000; ++round) {
    const Shape shape = random_shape(random, 5, 5);
    const Tensor x = random_layout(random, shape, DType::float32);
    count_up<float>(x);
    Shape dims;
    for (size_t d = 0; d < shape.size(); ++d)
      if (random() % 2)
        dims.push_back(random() % 2 ? static_cast<int64_t>(d) : static_cast<int64_t>(d) - x.dim());
    const bool keepdim = random() % 2;
    const uint64_t all = (uint64_t{1} << shape.size()) - 1;
    uint64_t mask = 0;
    for (const int64_t dim : dims) mask |= uint64_t{1} << (dim < 0 ? dim + x.dim() : dim);
    if (mask == 0) mask = all;
    Shape expected_shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (!(mask >> d & 1)) {
        expected_shape.push_back(shape[d]);
      } else if (keepdim) {
        expected_shape.push_back(1);
      }
    Tensor out;
    if (random() % 3 == 0) out = random_layout(random, expected_shape, DType::float32);
    Reduction reduction("sum");
    reduction.add_output(DType::float32, out);
    reduction.add_output(DType::float32);
    reduction.build(x, dims, keepdim);
    sum(reduction);
    reduction.finish();
    const Tensor result = reduction.output(0);
    CHECK(result.sizes() == expected_shape && (!out.defined() || result.is_same(out)));
    std::vector<float> expected(static_cast<size_t>(result.numel()));
    for_each_index(shape, [&](const Shape& index) {
      size_t position = 0;
      for (size_t d = 0; d < shape.size(); ++d)
        if (!(mask >> d & 1))
          position = position * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
      expected[position] += at<float>(x, index);
    });
    CHECK(values<float>(result) == expected && values<float>(reduction.output(1)) == expected);
    CHECK(reduction.count() * reduction.output_numel() == x.numel() || x.numel() == 0);
    if (reduction.kind() == Reduction::Kind::outer) {
      // Dense runs along kept dim 0.
      int64_t covered = 0;
      reduction.for_each_output_run(
          1, reduction.output_numel(),
          [&](const char*, char* const*, int64_t count) { covered += count; });
      CHECK(covered == reduction.output_numel() - 1 && reduction.input_kept_stride(0) == 4);
    }
  }
}

TEST(kinds) {
  using Kind = Reduction::Kind;
  const Tensor x = arange<float>(Shape{4, 5, 6});
  const Tensor turned = make_view(x, Shape{6, 5, 4}, Shape{1, 6, 30}, 0);
  CHECK(kind(x, std::nullopt) == Kind::full && kind(turned, std::nullopt) == Kind::full);
  CHECK(kind(x, Shape{-1}) == Kind::inner && kind(x, Shape{1, 2}, true) == Kind::inner);
  CHECK(kind(x, Shape{0}) == Kind::outer && kind(x, Shape{1}) == Kind::outer &&
        kind(x, Shape{0, 1}) == Kind::outer);
  CHECK(kind(x, Shape{0, 2}) == Kind::general && kind(turned, Shape{0}) == Kind::inner);
  CHECK(kind(make_view(x, Shape{5}, Shape{2}, 0), std::nullopt) == Kind::general);
  CHECK(kind(empty(Shape{3, 0}), Shape{1}) == Kind::general &&
        kind(empty(Shape{}), std::nullopt) == Kind::full);
  CHECK(kind(empty(Shape{3, 1}), Shape{1}) == Kind::outer);
}

TEST(outputs) {
  const Tensor x = arange<float>(Shape{2, 3});
  const Tensor wide = empty(Shape{2}, DType::float64), resized = empty(Shape{0});
  for (const Tensor& out : {wide, resized}) {
    Reduction reduction("sum");
    reduction.add_output(DType::float32, out);
    reduction.build(x, Shape{1}, false);
    sum(reduction);
    reduction.finish();
    CHECK(reduction.output().is_same(out) && out.sizes() == Shape{2});
    CHECK(item(make_view(out, {}, {}, 1)).to<int>() == 12);
  }
  // An output inside the input.
  const Tensor head = make_view(x, Shape{2}, Shape{1}, 0);
  Reduction inside("sum");
  inside.add_output(DType::float32, head);
  inside.build(x, Shape{1}, false);
  sum(inside);
  inside.finish();
  CHECK(values<float>(x) == std::vector<float>({3, 12, 2, 3, 4, 5}));
  const auto build = [&](const Tensor& out, Shape dims) {
    Reduction reduction("sum");
    reduction.add_output(DType::float32, out);
    reduction.build(x, dims, false);
  };
  CHECK(throws(ErrorKind::runtime, "sum: argument out has shape [3], expected [2]",
               [&] { build(empty(Shape{3}), {1}); }));
  CHECK(throws(ErrorKind::runtime, "cannot be written",
               [&] { build(empty(Shape{2}, DType::int8), {1}); }));
  CHECK(throws(ErrorKind::index, "sum", [&] { build(Tensor(), {2}); }));
  CHECK(throws(ErrorKind::runtime, "once", [&] { build(Tensor(), {1, -1}); }));
  Reduction meta("sum");
  meta.add_output(DType::float32);
  meta.build(empty(Shape{2, 3}, DType::float32, Device{Backend::meta}), Shape{0}, true);
  CHECK(meta.output().sizes() == Shape({1, 3}) && meta.output().device().is_meta());
}
