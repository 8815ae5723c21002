// Dtypes, scalars, shapes, devices, dispatch.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "core/backends/dispatch.h"
#include "core/geometry/shape_rules.h"
#include "core/tensor/promotion.h"
#include "core_tools.h"

using namespace flambeau;
using namespace flambeau::testing;

namespace {
// One letter per dtype that operators compute with, in the order of the enumeration.
const std::string kLetters = "bu1248hefdFD";
std::vector<DType> computed_dtypes() {
  std::vector<DType> found;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!is_limited(static_cast<DType>(i))) found.push_back(static_cast<DType>(i));
  }
  return found;
}
const std::vector<DType> kDTypes = computed_dtypes();
DType dtype_at(size_t i) { return kDTypes.at(i); }
char letter(DType dtype) {
  return kLetters.at(static_cast<size_t>(std::ranges::find(kDTypes, dtype) - kDTypes.begin()));
}
Tensor of(DType dtype, Shape sizes) { return empty(sizes, dtype); }
}  // namespace

TEST(promotion_of_dtypes) {
  const char* table[] = {"bu1248hefdFD", "uu2248hefdFD", "121248hefdFD", "222248hefdFD",
                         "444448hefdFD", "888888hefdFD", "hhhhhhhffdFD", "eeeeeefefdFD",
                         "fffffffffdFD", "ddddddddddDD", "FFFFFFFFFDFD", "DDDDDDDDDDDD"};
  for (size_t a = 0; a < 12; ++a)
    for (size_t b = 0; b < 12; ++b) CHECK(letter(promote(dtype_at(a), dtype_at(b))) == table[a][b]);
}

TEST(casts_that_outputs_allow) {
  const char* table[] = {"111111111111", "011111111111", "011111111111", "011111111111",
                         "011111111111", "011111111111", "000000111111", "000000111111",
                         "000000111111", "000000111111", "000000000011", "000000000011"};
  for (size_t a = 0; a < 12; ++a)
    for (size_t b = 0; b < 12; ++b)
      CHECK(can_cast(dtype_at(a), dtype_at(b)) == (table[a][b] == '1'));
}

TEST(promotion_of_dimensioned_with_0d) {
  const char* table[] = {"bu1248hefdFD", "uuuuuuhefdFD", "111111hefdFD", "222222hefdFD",
                         "444444hefdFD", "888888hefdFD", "hhhhhhhhhhFF", "eeeeeeeeeeFF",
                         "ffffffffffFF", "ddddddddddDD", "FFFFFFFFFFFF", "DDDDDDDDDDDD"};
  for (size_t a = 0; a < 12; ++a)
    for (size_t b = 0; b < 12; ++b) {
      const Tensor dimensioned = of(dtype_at(a), {1}), zero = of(dtype_at(b), {});
      const Operand operands[] = {zero, dimensioned};
      CHECK(letter(result_dtype(operands)) == table[a][b]);
    }
}

TEST(promotion_of_tensors_with_numbers) {
  const char* table[] = {"b8fF", "uufF", "11fF", "22fF", "44fF", "88fF",
                         "hhhF", "eeeF", "fffF", "dddD", "FFFF", "DDDD"};
  const Scalar numbers[] = {true, 1, 1.0, complex<double>(0, 1)};
  for (size_t a = 0; a < 12; ++a)
    for (size_t k = 0; k < 4; ++k)
      for (const Shape& sizes : {Shape{1}, Shape{}}) {
        const Tensor tensor = of(dtype_at(a), sizes), wrapped = wrap_number(numbers[k]);
        const Operand with_number[] = {tensor, numbers[k]}, with_wrapped[] = {wrapped, tensor};
        CHECK(letter(result_dtype(with_number)) == table[a][k]);
        CHECK(letter(result_dtype(with_wrapped)) == table[a][k]);
      }
}

TEST(default_dtype_follows) {
  const Operand operands[] = {Scalar(1.5)};
  CHECK(result_dtype(operands) == DType::float32);
  set_default_dtype(DType::float64);
  CHECK(result_dtype(operands) == DType::float64);
  CHECK(Scalar(complex<double>(1, 1)).dtype() == DType::complex128);
  CHECK(empty(Shape{2}).dtype() == DType::float64);
  set_default_dtype(DType::float32);
  CHECK(throws(ErrorKind::type, "int32", [] { set_default_dtype(DType::int32); }));
  CHECK(real_dtype(DType::complex128) == DType::float64 && real_dtype(DType::int8) == DType::int8);
  CHECK(complex_dtype(DType::bfloat16) == DType::complex64);
}

TEST(scalars) {
  Scalar(255).check_fits(DType::uint8, "op", "x");
  Scalar(-128).check_fits(DType::int8, "op", "x");
  Scalar(255.9).check_fits(DType::uint8, "op", "x");
  Scalar(300).check_fits(DType::bool_, "op", "x");
  Scalar(1e300).check_fits(DType::float16, "op", "x");
  const auto rejected = [](Scalar value, DType dtype) {
    return throws(ErrorKind::runtime, "fill: argument value",
                  [&] { value.check_fits(dtype, "fill", "value"); });
  };
  Scalar(-1).check_fits(DType::uint8, "op", "x");  // counts from above: 255
  CHECK(rejected(256, DType::uint8) && rejected(-256, DType::uint8) && rejected(-129, DType::int8));
  CHECK(rejected(int64_t{1} << 31, DType::int32) && rejected(0x1p63, DType::int64));
  CHECK(rejected(std::nan(""), DType::int64) && rejected(complex<double>(1, 1), DType::int64));
  Scalar(-0x1p63).check_fits(DType::int64, "op", "x");
  CHECK(concatenate(Scalar(true), " ", Scalar(-3), " ", Scalar(0.5), " ",
                    Scalar(complex<double>(1, -2))) == "True -3 0.5 (1-2j)");
}

TEST(shapes) {
  Shape shape{2, 3};
  CHECK(concatenate(shape) == "[2, 3]" && concatenate(Shape()) == "[]");
  for (int64_t i = 0; i < 20; ++i) shape.push_back(i);
  CHECK(shape.size() == 22 && shape.back() == 19 && shape[2] == 0);
  Shape moved = std::move(shape);
  CHECK(moved.size() == 22 && shape.empty());
  Shape copy = moved;
  CHECK(copy == moved);
  copy.insert(0, 7);
  copy.erase(1);
  CHECK(copy[0] == 7 && copy[1] == 3 && copy.size() == 22);
  moved = Shape{1};
  CHECK(moved.size() == 1 && moved[0] == 1);
  moved = std::move(copy);
  CHECK(moved.size() == 22);
  moved.assign(IntList(moved).subspan(2, 4));
  CHECK(moved == Shape({0, 1, 2, 3}));
  Shape small{4, 5, 6}, other = std::move(small);
  CHECK(other == Shape({4, 5, 6}));
  CHECK(contiguous_strides(Shape{2, 0, 3}) == Shape({3, 3, 1}));
  CHECK(checked_numel(Shape{}, "op") == 1 && checked_numel(Shape{3, 0}, "op") == 0);
  const int64_t huge = int64_t{1} << 40;
  CHECK(checked_numel(Shape{huge, huge, 0}, "op") == 0);
  CHECK(throws(ErrorKind::runtime, "64 bits", [&] { checked_numel(Shape{huge, huge}, "op"); }));
  CHECK(throws(ErrorKind::runtime, "negative", [&] { checked_numel(Shape{2, -1}, "op"); }));
  CHECK(wrap_dim(-1, 3, "op") == 2 && wrap_dim(-1, 0, "op") == 0 && wrap_dim(0, 0, "op") == 0);
  CHECK(throws(ErrorKind::index, "expected -3 to 2", [] { wrap_dim(3, 3, "sum"); }));
  CHECK(throws(ErrorKind::index, "sum", [] { wrap_dim(1, 0, "sum"); }));
}

TEST(shape_language) {
  using namespace shape_rules;
  const Shape shape{2, 3, 4};
  CHECK(reduced(shape, std::nullopt, false) == Shape());
  CHECK(reduced(shape, std::nullopt, true) == Shape({1, 1, 1}));
  CHECK(reduced(shape, Shape{}, false) == Shape());
  CHECK(reduced(shape, Shape{-1, 0}, false) == Shape{3} &&
        reduced(shape, Shape{1}, true) == Shape({2, 1, 4}));
  CHECK(reduced(shape, -2, false) == Shape({2, 4}) && reduced(Shape{}, 0, true) == Shape());
  CHECK(reduced(shape, std::optional<int64_t>(), false) == Shape());
  CHECK(throws(ErrorKind::runtime, "more than once", [&] {
    reduced(shape, Shape{1, -2}, false, "sum");
  }));
  CHECK(throws(ErrorKind::index, "sum", [&] { reduced(shape, 3, false, "sum"); }));
  CHECK(swapped(shape, 0, -1) == Shape({4, 3, 2}) && swapped(Shape{}, 0, -1) == Shape());
  CHECK(broadcast(Shape{3, 1}, Shape{2, 1, 4}) == Shape({2, 3, 4}));
  CHECK(broadcast(Shape{0}, Shape{1}) == Shape({0}) && broadcast(Shape{1}, Shape{0}) == Shape{0});
  CHECK(throws(ErrorKind::runtime, "[2, 3] and [4]", [] {
    broadcast(Shape{2, 3}, Shape{4}, "add");
  }));
  CHECK(permuted(shape, Shape{2, 0, 1}) == Shape({4, 2, 3}));
  CHECK(throws(ErrorKind::runtime, "permute", [&] { permuted(shape, Shape{0, 1}, "permute"); }));
  CHECK(throws(ErrorKind::runtime, "once", [&] { permuted(shape, Shape{0, 1, 1}, "permute"); }));
  CHECK(inserted(shape, -1, 9) == Shape({2, 3, 4, 9}) && inserted(shape, 0, 9)[0] == 9);
  CHECK(without(shape, 1) == Shape({2, 4}) && replaced(shape, -1, 8) == Shape({2, 3, 8}));
  CHECK(at(shape, -1) == 4 && len(shape) == 3 && numel(shape) == 24 && wrap(-1, 3) == 2);
  CHECK(throws(ErrorKind::index, "index 3", [&] { at(shape, 3); }));
  CHECK(slice(shape, 1, std::nullopt) == Shape({3, 4}) && slice(shape, -5, -1) == Shape({2, 3}));
  CHECK(slice(shape, 2, 1) == Shape() && concatenated(shape, Shape{5}) == Shape({2, 3, 4, 5}));
  CHECK(repeated(Shape{1, 2}, 2) == Shape({1, 2, 1, 2}));
  CHECK(floor_div(-7, 2) == -4 && floor_mod(-7, 2) == 1 && floor_div(7, -2) == -4);
  CHECK(floor_div(6, 3) == 2 && floor_mod(6, -3) == 0 && floor_mod(7, -3) == -2);
  CHECK(throws(ErrorKind::runtime, "zero", [] { floor_div(1, 0); }));
}

TEST(window_shapes) {
  using namespace shape_rules;
  const Shape one{1}, two{2}, three{3}, zero{0};
  CHECK(conv_out(Shape{28, 30}, three, one, one, one) == Shape({28, 30}));
  CHECK(conv_out(Shape{28}, three, two, zero, two) == Shape{12});
  CHECK(throws(ErrorKind::runtime, "does not fit",
               [&] { conv_out(Shape{2}, three, one, zero, one, "conv1d"); }));
  CHECK(throws(ErrorKind::runtime, "stride", [&] { conv_out(Shape{9}, three, zero, zero, one); }));
  CHECK(throws(ErrorKind::runtime, "2 entries", [&] {
    conv_out(Shape{9, 9, 9}, Shape{3, 3}, one, zero, one);
  }));
  CHECK(conv_transpose_out(Shape{4}, three, two, one, one, one) == Shape{8});
  CHECK(throws(ErrorKind::runtime, "output_padding",
               [&] { conv_transpose_out(Shape{4}, three, one, one, one, one); }));
  // By definition: windows that begin inside the input or its left padding and, without ceil_mode,
  // end inside the padded input.
  for (int64_t size = 1; size < 12; ++size)
    for (int64_t kernel = 1; kernel <= 4; ++kernel)
      for (int64_t stride = 1; stride <= 4; ++stride)
        for (int64_t padding = 0; padding <= kernel / 2; ++padding)
          for (const bool ceil_mode : {false, true}) {
            int64_t windows = 0;
            for (int64_t start = -padding; start < size; start += stride) {
              const int64_t end = start + kernel;
              const int64_t reach = size + padding + (ceil_mode ? stride - 1 : 0);
              windows += end <= reach;
            }
            if (windows == 0) continue;
            CHECK(pool_out(Shape{size}, Shape{kernel}, Shape{stride}, Shape{padding}, one,
                           ceil_mode) == Shape{windows});
          }
  CHECK(pool_out(Shape{8, 8}, two, Shape{}, zero, one, false) == Shape({4, 4}));
  CHECK(throws(ErrorKind::runtime, "half",
               [&] { pool_out(Shape{8}, two, Shape{}, two, one, false); }));
}

TEST(devices) {
  CHECK(parse_device("cpu") == Device{} && parse_device("cuda:1") == (Device{Backend::cuda, 1}));
  CHECK(parse_device("meta").is_meta() && to_string(Device{Backend::cuda, 0}) == "cuda:0");
  for (const char* bad : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:999", "cuda:01", ":0"})
    CHECK(throws(ErrorKind::runtime, "device", [&] { parse_device(bad); }));
  const Backend backend = register_backend("opencl");
  CHECK(parse_device("opencl:3") == (Device{backend, 3}));
  CHECK(throws(ErrorKind::runtime, "already", [] { register_backend("opencl"); }));
  CHECK(throws(ErrorKind::runtime, "allocator", [&] {
    empty(Shape{2}, DType::float32, {backend, 0});
  }));
  CHECK(empty(Shape{}, DType::float32, parse_device("cpu:0")).device() == Device{});
}

namespace {
int answer() { return 42; }
int half(int number) { return number / 2; }
}  // namespace

TEST(dispatch) {
  register_kernel("test_early", Backend::cpu, kernel_of(&answer));
  static KernelTable<int()> early("test_early"), table("test_late");
  CHECK(early[Backend::cpu]() == 42);
  CHECK(throws(ErrorKind::not_implemented, "test_late: no kernel for device cpu",
               [&] { table[Backend::cpu](); }));
  const Register here{"test_late", Backend::meta, &answer};
  CHECK(table.find(Backend::cpu) == nullptr && table[Backend::meta]() == 42);
  CHECK(throws(ErrorKind::not_implemented, "kernels for meta", [&] { table[Backend::cuda](); }));
  register_kernel("test_unknown", Backend::cpu, kernel_of(&answer));
  register_kernel("mine.unknown", Backend::cpu, kernel_of(&answer));
  register_kernel("later.op", Backend::cpu, kernel_of(&answer));
  CHECK(throws(ErrorKind::runtime,
               "mine registers kernels for operators that are not declared: mine.unknown, test",
               [] { check_registration("mine"); }));
  check_registration("mine");
  // A kernel of another type is not called, whether it comes before its table or after.
  register_kernel("test_half", Backend::cpu, kernel_of(&answer));
  static KernelTable<int(int)> halves("test_half");
  const Register wrong{"test_late", Backend::cpu, &half}, right{"test_half", Backend::meta, &half};
  CHECK(halves.find(Backend::cpu) == nullptr && halves[Backend::meta](4) == 2);
  CHECK(table.find(Backend::cpu) == nullptr);
  CHECK(throws(ErrorKind::runtime, "test_late: a kernel is int (int), expected int ()",
               [] { check_registration(""); }));
  check_registration("");
  static KernelTable<int()> later("later.op");
  CHECK(later[Backend::cpu]() == 42);
}
