// View geometry, against element-by-element definitions.

#include <algorithm>

#include "check.h"
#include "core/tensor/views.h"
#include "core_tools.h"

using namespace flambeau;
using namespace flambeau::testing;

namespace {
Tensor apply(const Tensor& base, const View& view) { return make_view(base, view); }
/// Where each element of a view lies, in row-major order.
std::vector<char*> addresses(const Tensor& tensor) {
  std::vector<char*> result;
  for_each_index(tensor.sizes(),
                 [&](const Shape& index) { result.push_back(address(tensor, index)); });
  return result;
}
}  // namespace

TEST(reshape_without_copy_exactly_when_possible) {
  std::mt19937 random(5);
  int possible = 0, impossible = 0;
  for (int round = 0; round < 5000; ++round) {
    Shape sizes;
    for (size_t i = 0, rank = random() % 5; i < rank; ++i)
      sizes.push_back(std::vector<int64_t>{1, 2, 3, 4, 6}[random() % 5]);
    Tensor tensor = random_layout(random, sizes, DType::float32);
    if (!sizes.empty() && random() % 3 == 0) {
      Shape strides = tensor.strides();
      strides[random() % strides.size()] = 0;
      tensor = make_view(tensor, sizes, strides, tensor.offset());
    }
    Shape target;
    for (int64_t rest = tensor.numel(); rest > 1 || random() % 2;) {
      std::vector<int64_t> divisors{1};
      for (int64_t d = 2; d <= rest; ++d)
        if (rest % d == 0) divisors.push_back(d);
      target.push_back(divisors[random() % divisors.size()]);
      rest /= target.back();
      if (target.size() == 8) {
        target.push_back(rest);
        break;
      }
    }
    const auto view = views::try_view(tensor, target);
    // The elements keep their order; a view exists when the addresses are affine in the new index.
    const std::vector<char*> where = addresses(tensor);
    Shape steps(target.size(), 0);
    int64_t inner = 1;
    for (size_t d = target.size(); d-- > 0; inner *= target[d])
      if (target[d] > 1) steps[d] = where[static_cast<size_t>(inner)] - where[0];
    bool affine = true;
    size_t i = 0;
    for_each_index(target, [&](const Shape& index) {
      const char* expected = where[0];
      for (size_t d = 0; d < target.size(); ++d) expected += index[d] * steps[d];
      affine &= expected == where[i++];
    });
    CHECK(view.has_value() == affine);
    (affine ? possible : impossible)++;
    if (view && affine) CHECK(addresses(apply(tensor, *view)) == where);
  }
  CHECK(possible > 500 && impossible > 500);
}

TEST(view_sizes) {
  const Tensor x = arange<float>(Shape{2, 3, 4});
  CHECK(views::view(x, Shape{-1}).sizes == Shape{24} &&
        views::view(x, Shape{6, -1}).sizes == Shape({6, 4}));
  CHECK(throws(ErrorKind::runtime, "only one", [&] { views::view(x, Shape{-1, -1}); }));
  CHECK(throws(ErrorKind::runtime, "does not divide", [&] { views::view(x, Shape{5, -1}); }));
  CHECK(throws(ErrorKind::runtime, "[5, 5]", [&] { views::view(x, Shape{5, 5}); }));
  CHECK(throws(ErrorKind::runtime, "negative", [&] { views::view(x, Shape{-2, 12}); }));
  const Tensor turned = apply(x, views::transpose(x, 0, 2));
  CHECK(throws(ErrorKind::runtime, "reshape()", [&] { views::view(turned, Shape{24}); }));
  const Tensor none = empty(Shape{2, 0, 3});
  CHECK(views::view(none, Shape{0}).sizes == Shape{0} &&
        views::view(none, Shape{4, -1, 3}).sizes == Shape({4, 0, 3}));
  CHECK(throws(ErrorKind::runtime, "any size", [&] { views::view(none, Shape{-1, 0}); }));
  CHECK(views::flatten(x).sizes == Shape{24} && views::flatten(x, 1, 2).sizes == Shape({2, 12}));
  CHECK(views::flatten(empty(Shape{})).sizes == Shape{1});
  CHECK(throws(ErrorKind::runtime, "after", [&] { views::flatten(x, 2, 0); }));
  CHECK(views::unflatten(turned, 0, Shape{2, -1}).sizes == Shape({2, 2, 3, 2}));
  CHECK(views::unflatten(turned, 0, Shape{2, -1}).strides == Shape({2, 1, 4, 12}));
}

TEST(permutations) {
  const Tensor x = arange<float>(Shape{2, 3, 4});
  const Tensor y = apply(x, views::permute(x, Shape{2, 0, -2}));
  bool right = y.sizes() == Shape({4, 2, 3});
  for_each_index(y.sizes(), [&](const Shape& i) {
    right &= at<float>(y, i) == at<float>(x, Shape{i[1], i[2], i[0]});
  });
  CHECK(right);
  CHECK(views::transpose(x, 0, -1).strides == Shape({1, 4, 12}));
  CHECK(views::transpose(empty(Shape{}), 0, -1).sizes == Shape());
  CHECK(throws(ErrorKind::index, "transpose", [&] { views::transpose(x, 0, 3); }));
  CHECK(throws(ErrorKind::runtime, "t:", [&] { views::t(x); }));
  CHECK(views::t(arange<float>(Shape{2, 3})).sizes == Shape({3, 2}));
  CHECK(views::t(arange<float>(Shape{3})).sizes == Shape{3});
  CHECK(views::reversed(x).sizes == Shape({4, 3, 2}) &&
        views::matrix_transpose(x).sizes == Shape({2, 4, 3}));
  CHECK(views::movedim(x, 0, -1).sizes == Shape({3, 4, 2}));
  CHECK(views::movedim(x, Shape{0, 1}, Shape{1, 0}).sizes == Shape({3, 2, 4}));
  CHECK(views::movedim(x, Shape{2}, Shape{0}).sizes == Shape({4, 2, 3}));
  CHECK(throws(ErrorKind::runtime, "same number", [&] { views::movedim(x, Shape{0}, Shape{}); }));
}

TEST(dims_of_size_one) {
  const Tensor x = arange<float>(Shape{2, 1, 3, 1});
  CHECK(views::squeeze(x).sizes == Shape({2, 3}) &&
        views::squeeze_dim(x, 1).sizes == Shape({2, 3, 1}));
  CHECK(views::squeeze(x, 0).sizes == x.sizes() &&
        views::squeeze(x, Shape{1, -1}).sizes == Shape({2, 3}));
  CHECK(views::squeeze(empty(Shape{}), 0).sizes == Shape());
  CHECK(views::unsqueeze(x, -1).sizes == Shape({2, 1, 3, 1, 1}) &&
        views::unsqueeze(x, 0).sizes.size() == 5);
  CHECK(apply(x, views::unsqueeze(x, 2)).is_contiguous());
  CHECK(throws(ErrorKind::index, "unsqueeze", [&] { views::unsqueeze(x, 5); }));
  CHECK(views::expand(x, Shape{7, 2, 5, -1, 4}).sizes == Shape({7, 2, 5, 3, 4}));
  CHECK(views::expand(x, Shape{7, 2, 5, -1, 4}).strides == Shape({0, 3, 0, 1, 0}));
  CHECK(throws(ErrorKind::runtime, "leading", [&] { views::expand(x, Shape{-1, 2, 1, 3, 1}); }));
  CHECK(throws(ErrorKind::runtime, "dimension 0", [&] { views::expand(x, Shape{3, 1, 3, 1}); }));
  CHECK(throws(ErrorKind::runtime, "at least", [&] { views::expand(x, Shape{3, 1}); }));
  CHECK(views::expand(empty(Shape{1}), Shape{0}).sizes == Shape{0});
}

TEST(parts) {
  const Tensor x = arange<float>(Shape{4, 5});
  CHECK(values<float>(apply(x, views::select(x, 0, -1))) ==
        std::vector<float>({15, 16, 17, 18, 19}));
  CHECK(throws(ErrorKind::index, "index 5", [&] { views::select(x, 1, 5); }));
  CHECK(throws(ErrorKind::index, "0-d", [] { views::select(empty(Shape{}), 0, 0); }));
  // Python's slicing of a list is the model.
  for (int64_t start = -7; start <= 7; ++start)
    for (int64_t stop = -7; stop <= 7; ++stop)
      for (int64_t step = 1; step <= 7; ++step) {
        const auto clamp = [](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + 5 : i, 0, 5); };
        std::vector<float> expected;
        for (int64_t i = clamp(start); i < clamp(stop); i += step)
          expected.push_back(static_cast<float>(i));
        const Tensor row = apply(x, views::select(x, 0, 0));
        CHECK(values<float>(apply(row, views::slice(row, 0, start, stop, step))) == expected);
      }
  CHECK(views::slice(x, 1, {}, {}, 2).sizes == Shape({4, 3}));
  CHECK(views::slice(x, 1, 1, INT64_MAX, INT64_MAX).sizes == Shape({4, 1}));
  CHECK(throws(ErrorKind::value, "step", [&] { views::slice(x, 0, {}, {}, 0); }));
  CHECK(views::narrow(x, 1, -2, 2).offset == 3 && views::narrow(x, 0, 4, 0).sizes == Shape({0, 5}));
  CHECK(throws(ErrorKind::runtime, "exceeds", [&] { views::narrow(x, 1, 3, 3); }));
  CHECK(values<float>(apply(x, views::diagonal(x, 1))) == std::vector<float>({1, 7, 13, 19}));
  CHECK(values<float>(apply(x, views::diagonal(x, -2))) == std::vector<float>({10, 16}));
  CHECK(views::diagonal(x, 9).sizes == Shape{0} && views::diagonal(x, -9).sizes == Shape{0});
  CHECK(values<float>(apply(x, views::diagonal(x, 1, 1, 0))) == std::vector<float>({5, 11, 17}));
  const Tensor row = apply(x, views::select(x, 0, 0));
  CHECK(values<float>(apply(row, views::unfold(row, 0, 3, 2))) ==
        std::vector<float>({0, 1, 2, 2, 3, 4}));
  CHECK(views::unfold(empty(Shape{}), 0, 1, 1).sizes == Shape{1});
  CHECK(throws(ErrorKind::runtime, "between", [&] { views::unfold(row, 0, 6, 1); }));
  CHECK(values<float>(apply(x, views::as_strided(x, Shape{2, 2}, Shape{5, 1}, 6))) ==
        std::vector<float>({6, 7, 11, 12}));
  CHECK(throws(ErrorKind::runtime, "outside",
               [&] { apply(x, views::as_strided(x, Shape{21}, Shape{1})); }));
}

TEST(pieces) {
  const Tensor x = arange<float>(Shape{7, 2});
  const auto lengths = [](const std::vector<View>& pieces) {
    Shape result;
    for (const View& piece : pieces) result.push_back(piece.sizes[0]);
    return result;
  };
  CHECK(lengths(views::split(x, 3)) == Shape({3, 3, 1}) && views::split(x, 3)[2].offset == 12);
  CHECK(lengths(views::split(x, INT64_MAX)) == Shape{7});
  CHECK(lengths(views::split_with_sizes(x, Shape{2, 0, 5})) == Shape({2, 0, 5}));
  CHECK(lengths(views::chunk(x, 3)) == Shape({3, 3, 1}) &&
        lengths(views::chunk(x, 5)) == Shape({2, 2, 2, 1}));
  CHECK(views::unbind(x).size() == 7 && views::unbind(x, 1)[1].strides == Shape{2});
  CHECK(lengths(views::split(empty(Shape{0}), 3)) == Shape{0} &&
        views::chunk(empty(Shape{0}), 3).size() == 3);
  CHECK(throws(ErrorKind::runtime, "adds up to 6", [&] {
    views::split_with_sizes(x, Shape{2, 4});
  }));
  CHECK(throws(ErrorKind::runtime, "split_size", [&] { views::split(x, 0); }));
}

TEST(other_dtypes) {
  const Tensor x = empty(Shape{2, 3}, DType::complex64);
  for (int i = 0; i < 12; ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor turned = apply(x, views::transpose(x, 0, 1));
  const auto floats = [](const Tensor& base, const View& view) {
    return values<float>(make_view(base, view, DType::float32));
  };
  CHECK(floats(turned, views::real(turned)) == std::vector<float>({0, 6, 2, 8, 4, 10}));
  CHECK(floats(turned, views::imag(turned)) == std::vector<float>({1, 7, 3, 9, 5, 11}));
  CHECK(floats(turned, views::view_as_real(turned)) ==
        std::vector<float>({0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
  const Tensor pairs = make_view(turned, views::view_as_real(turned), DType::float32);
  const View back = views::view_as_complex(pairs);
  CHECK(back.sizes == turned.sizes() && back.strides == turned.strides() && back.offset == 0);
  CHECK(throws(ErrorKind::runtime, "imag", [&] { views::imag(pairs); }));
  CHECK(throws(ErrorKind::runtime, "size 2", [&] {
    views::view_as_complex(arange<float>(Shape{2, 3}));
  }));
  const Tensor y = arange<int32_t>(Shape{3, 4});
  CHECK(views::view_dtype(y, DType::float32).sizes == y.sizes());
  CHECK(views::view_dtype(y, DType::int64).sizes == Shape({3, 2}) &&
        views::view_dtype(y, DType::uint8).sizes == Shape({3, 16}));
  CHECK(views::view_dtype(y, DType::int64).strides == Shape({2, 1}));
  CHECK(throws(ErrorKind::runtime, "divisible",
               [] { views::view_dtype(arange<int32_t>(Shape{3}), DType::int64); }));
}
