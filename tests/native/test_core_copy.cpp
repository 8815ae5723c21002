// copy_data, cast_data, contiguous_data, fill_data, item.

#include <cmath>
#include <limits>

#include "check.h"
#include "core/threads/parallel.h"
#include "core/types/half.h"
#include "core_tools.h"

using namespace flambeau;
using namespace flambeau::testing;

namespace {
const Scalar kNumbers[] = {0, 1, 2, 100, -1, -100, 0.5, -2.75, 127.0, complex<double>(3, -4)};

/// Written through Scalar::to, read through item: neither is the conversion under test.
void set(const Tensor& tensor, int64_t i, const Scalar& value) {
  switch (tensor.dtype()) {
#define FLAMBEAU_SET(name, type, ...)          \
  case DType::name:                            \
    tensor.data<type>()[i] = value.to<type>(); \
    break;
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_SET)
#undef FLAMBEAU_SET
  }
}
Scalar get(const Tensor& tensor, int64_t i) { return item(make_view(tensor, {}, {}, i)); }
bool same(const Scalar& a, const Scalar& b) {
  return a.to<complex<double>>() == b.to<complex<double>>();
}

/// What a conversion must give, from the element as item() reads it.
Scalar converted(const Scalar& value, DType to) {
  const auto number = value.to<complex<double>>();
  if (to == DType::bool_) return number.re != 0 || number.im != 0;
  switch (to) {
    case DType::float16:
      return static_cast<float>(float16(static_cast<float>(number.re)));
    case DType::bfloat16:
      return static_cast<float>(bfloat16(static_cast<float>(number.re)));
    case DType::float32:
      return static_cast<float>(number.re);
    case DType::float64:
      return number.re;
    case DType::complex64:
      return complex<double>(static_cast<float>(number.re), static_cast<float>(number.im));
    case DType::complex128:
      return number;
    default:
      break;
  }
  // Integers lose their upper bits.
  const auto bits = value.is_integral() ? value.to<uint64_t>()
                                        : static_cast<uint64_t>(static_cast<int64_t>(number.re));
  switch (to) {
    case DType::uint8:
      return static_cast<int64_t>(static_cast<uint8_t>(bits));
    case DType::uint16:
      return static_cast<int64_t>(static_cast<uint16_t>(bits));
    case DType::uint32:
      return static_cast<int64_t>(static_cast<uint32_t>(bits));
    case DType::uint64:
      return bits;
    case DType::int8:
      return static_cast<int64_t>(static_cast<int8_t>(bits));
    case DType::int16:
      return static_cast<int64_t>(static_cast<int16_t>(bits));
    case DType::int32:
      return static_cast<int64_t>(static_cast<int32_t>(bits));
    default:
      return static_cast<int64_t>(bits);
  }
}
}  // namespace

SETUP { set_num_threads(3); }

TEST(every_pair_of_dtypes) {
  for (int a = 0; a < kDTypeCount; ++a) {
    for (int b = 0; b < kDTypeCount; ++b) {
      const DType from = static_cast<DType>(a), to = static_cast<DType>(b);
      // Long enough for vector loops and their rests; strided as well.
      const int64_t count = 1000 * 3;
      const Tensor source = empty(Shape{count}, from);
      for (int64_t i = 0; i < count; ++i) set(source, i, kNumbers[i % 10]);
      for (const int64_t step : {1, 3}) {
        const Tensor given = make_view(source, Shape{count / step}, Shape{step}, 0);
        const Tensor result = cast_data(given, to), strided = empty(Shape{count}, to);
        const Tensor target = make_view(strided, Shape{count / step}, Shape{step}, 0);
        copy_data(target, given);
        CHECK(result.dtype() == to && (a != b || result.is_same(given)));
        bool right = true;
        for (int64_t i = 0; i < count / step; ++i) {
          const Scalar expected = converted(get(source, i * step), to);
          if (a != b) right &= same(get(result, i), expected);
          right &= same(get(strided, i * step), expected);
        }
        CHECK(right);
        if (!right)
          std::printf("  %s -> %s, step %d\n", name(from), name(to), static_cast<int>(step));
      }
    }
  }
}

TEST(special_values) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Tensor source = empty(Shape{4}, DType::float64);
  const double numbers[] = {inf, -inf, nan, -0.0};
  for (int64_t i = 0; i < 4; ++i) source.data<double>()[i] = numbers[i];
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
    const Tensor back = cast_data(cast_data(source, dtype), DType::float64);
    const auto* data = back.data<double>();
    CHECK(data[0] == inf && data[1] == -inf && std::isnan(data[2]) && std::signbit(data[3]));
  }
  CHECK(values<bool>(cast_data(source, DType::bool_)) ==
        std::vector<bool>({true, true, true, false}));
}

TEST(all_half_values) {
  const Tensor half = empty(Shape{65536}, DType::float16),
               brain = empty(Shape{65536}, DType::bfloat16);
  for (int i = 0; i < 65536; ++i) {
    half.data<uint16_t>()[i] = static_cast<uint16_t>(i);
    brain.data<uint16_t>()[i] = static_cast<uint16_t>(i);
  }
  const Tensor wide = cast_data(half, DType::float32),
               brain_wide = cast_data(brain, DType::float32);
  const Tensor back = cast_data(wide, DType::float16),
               brain_back = cast_data(brain_wide, DType::bfloat16);
  bool right = true;
  for (int i = 0; i < 65536; ++i) {
    // The definition of binary16.
    const int exponent = i >> 10 & 31, mantissa = i & 1023;
    double expected = exponent == 0    ? std::ldexp(mantissa, -24)
                      : exponent == 31 ? (mantissa ? std::nan("") : INFINITY)
                                       : std::ldexp(1024 + mantissa, exponent - 25);
    if (i >> 15) expected = -expected;
    const float value = wide.data<float>()[i];
    if (std::isnan(expected)) {
      right &= std::isnan(value) && std::isnan(float(back.data<float16>()[i]));
    } else {
      right &= value == expected && back.data<uint16_t>()[i] == i;
    }
    const float brain_value = brain_wide.data<float>()[i];
    right &= std::isnan(brain_value) || brain_back.data<uint16_t>()[i] == i;
  }
  CHECK(right);
}

TEST(any_layout_and_broadcast) {
  std::mt19937 random(7);
  const DType dtypes[] = {DType::uint8, DType::int16, DType::float32, DType::int64,
                          DType::complex128};
  for (int round = 0; round < 2000; ++round) {
    const Shape shape = random_shape(random, 5, round % 50 == 0 ? 40 : 6);
    if (checked_numel(shape, "test") > 200000) continue;
    const DType dtype = dtypes[random() % 5];
    const DType from = random() % 2 ? dtype : dtypes[random() % 5];
    Shape source_shape(IntList(shape).subspan(shape.empty() ? 0 : random() % shape.size()));
    for (int64_t& size : source_shape)
      if (random() % 5 == 0) size = 1;
    const Tensor source = random_layout(random, source_shape, from);
    const Tensor destination = random_layout(random, shape, dtype);
    for_each_index(source_shape, [&](const Shape& index) {
      const Scalar value = static_cast<int64_t>(random() % 100);
      char* to = address(source, index);
      switch (from) {
        case DType::uint8:
          *reinterpret_cast<uint8_t*>(to) = value.to<uint8_t>();
          break;
        case DType::int16:
          *reinterpret_cast<int16_t*>(to) = value.to<int16_t>();
          break;
        case DType::float32:
          *reinterpret_cast<float*>(to) = value.to<float>();
          break;
        case DType::int64:
          *reinterpret_cast<int64_t*>(to) = value.to<int64_t>();
          break;
        default:
          *reinterpret_cast<complex<double>*>(to) = value.to<complex<double>>();
      }
    });
    copy_data(destination, source);
    const auto read = [](const Tensor& tensor, const Shape& index) -> int64_t {
      switch (tensor.dtype()) {
        case DType::uint8:
          return at<uint8_t>(tensor, index);
        case DType::int16:
          return at<int16_t>(tensor, index);
        case DType::float32:
          return static_cast<int64_t>(at<float>(tensor, index));
        case DType::int64:
          return at<int64_t>(tensor, index);
        default:
          return static_cast<int64_t>(at<complex<double>>(tensor, index).re);
      }
    };
    bool right = true;
    for_each_index(shape, [&](const Shape& index) {
      right &= read(destination, index) == read(source, index);
    });
    CHECK(right);
    CHECK(contiguous_data(destination).is_contiguous());
  }
}

TEST(transposed_copies) {
  for (const int64_t rows : {3, 31, 32, 33, 100, 300})
    for (const int64_t columns : {4, 32, 65, 257}) {
      const Tensor base = empty(Shape{2, rows, columns}, DType::int32);
      for (int64_t i = 0; i < base.numel(); ++i) base.data<int32_t>()[i] = static_cast<int32_t>(i);
      const Tensor view =
          make_view(base, Shape{2, columns, rows}, Shape{rows * columns, 1, columns}, 0);
      CHECK(values<int32_t>(contiguous_data(view)) == values<int32_t>(view));
    }
}

TEST(overlapping_copies) {
  const Tensor base = arange<float>(Shape{10});
  copy_data(make_view(base, Shape{9}, Shape{1}, 1), make_view(base, Shape{9}, Shape{1}, 0));
  CHECK(values<float>(base) == std::vector<float>({0, 0, 1, 2, 3, 4, 5, 6, 7, 8}));
  const Tensor square = arange<float>(Shape{2, 2});
  copy_data(square, make_view(square, Shape{2, 2}, Shape{1, 2}, 0));
  CHECK(values<float>(square) == std::vector<float>({0, 2, 1, 3}));
  copy_data(square, square);
  const Tensor expanded = make_view(base, Shape{3}, Shape{0}, 0);
  CHECK(throws(ErrorKind::runtime, "share memory",
               [&] { copy_data(expanded, arange<float>(Shape{3})); }));
  CHECK(throws(ErrorKind::runtime, "[4]", [&] { copy_data(base, arange<float>(Shape{4})); }));
  CHECK(throws(ErrorKind::runtime, "[2, 10]", [&] {
    copy_data(base, arange<float>(Shape{2, 10}));
  }));
}

TEST(high_ranks) {
  Shape sizes(40, 1), permuted(40, 1);
  for (const size_t d : {0, 3, 7, 12, 18, 19, 25, 31, 36, 39}) sizes[d] = 2;
  const Tensor base = empty(sizes, DType::int16);
  for (int64_t i = 0; i < base.numel(); ++i) base.data<int16_t>()[i] = static_cast<int16_t>(i);
  Shape strides(40, 1);
  for (size_t d = 0; d < 40; ++d) {
    permuted[39 - d] = base.sizes()[d];
    strides[39 - d] = base.strides()[d];
  }
  const Tensor view = make_view(base, permuted, strides, 0);
  CHECK(values<int16_t>(contiguous_data(view)) == values<int16_t>(view));
}

TEST(cast_keeps_the_dim_order) {
  const Tensor base = arange<float>(Shape{3, 4});
  const Tensor transposed = make_view(base, Shape{4, 3}, Shape{1, 4}, 0);
  CHECK(cast_data(transposed, DType::float64).strides() == Shape({1, 4}));
  CHECK(cast_data(make_view(base, Shape{3, 2}, Shape{4, 2}, 0), DType::int8).is_contiguous());
  CHECK(contiguous_data(base).is_same(base));
}

TEST(fills) {
  std::mt19937 random(3);
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    for (int round = 0; round < 30; ++round) {
      const Tensor tensor = random_layout(random, random_shape(random, 4, 9), dtype);
      const Tensor all = make_view(
          tensor, Shape{static_cast<int64_t>(tensor.storage()->bytes() / tensor.itemsize())},
          Shape{1}, 0);
      fill_data(all, 7);
      fill_data(tensor, 1);
      int64_t ones = 0;
      for (int64_t i = 0; i < all.numel(); ++i) ones += same(get(all, i), 1);
      CHECK(dtype == DType::bool_ || ones == tensor.numel());
    }
  }
  const Tensor large = empty(Shape{1000, 1000}, DType::float16);
  fill_data(large, 0.1);
  CHECK(std::abs(get(large, 999999).to<double>() - 0.1) < 1e-4);
}

TEST(items) {
  const Tensor boolean = empty({}, DType::bool_);
  fill_data(boolean, 3);
  CHECK(item(boolean).is_boolean() && item(boolean).to<int>() == 1);
  CHECK(item(wrap_number(complex<double>(1, 2))).to<complex<double>>() == complex<double>(1, 2));
  CHECK(item(wrap_number(0.1)).to<double>() == 0.1);
  CHECK(item(wrap_number(int64_t{1} << 60)).to<int64_t>() == int64_t{1} << 60);
  CHECK(throws(ErrorKind::runtime, "[2]", [] { item(empty(Shape{2})); }));
  const Tensor meta = empty(Shape{1}, DType::float32, Device{Backend::meta});
  CHECK(throws(ErrorKind::runtime, "meta", [&] { item(meta); }));
  fill_data(meta, 1);
  copy_data(meta, empty(Shape{1}));
  CHECK(throws(ErrorKind::not_implemented, "meta", [&] { copy_data(empty(Shape{1}), meta); }));
  CHECK(cast_data(meta, DType::int8).device().is_meta());
}
