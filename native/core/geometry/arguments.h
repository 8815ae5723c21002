#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/geometry/shape.h"

/// Integer arguments that were checked. Kernels and shape rules take these types, which only a
/// check can make: a dim that nobody looked at cannot reach them.
namespace flambeau {

/// What stands in a list of integers for None.
inline constexpr int64_t kNoInt = std::numeric_limits<int64_t>::min();

/// What an error calls an argument.
struct ArgumentName {
  const char* op;
  const char* argument;
};

/// A dimension in [0, rank); 0 of a 0-d tensor.
class Dim {
 public:
  /// Wraps a negative dim. IndexError outside [-rank, rank); a 0-d tensor has dims -1 and 0.
  Dim(int64_t given, int64_t rank, ArgumentName name) : value_(given) {
    const int64_t limit = rank == 0 ? 1 : rank;
    if (FLAMBEAU_UNLIKELY(given < -limit || given >= limit)) refuse(given, rank, name);
    if (given < 0) value_ += limit;
  }
  operator int64_t() const { return value_; }  // implicit on purpose
  IntList list() const { return {&value_, 1}; }

 private:
  [[noreturn]] FLAMBEAU_API static void refuse(int64_t given, int64_t rank, ArgumentName name);
  int64_t value_;
};

/// Dimensions, each as a Dim, no two of them the same.
class FLAMBEAU_API Dims {
 public:
  /// IndexError for a dim out of range, RuntimeError for one that is listed twice.
  Dims(IntList given, int64_t rank, ArgumentName name);
  operator IntList() const { return values_; }  // implicit on purpose
  const int64_t* begin() const { return values_.begin(); }
  const int64_t* end() const { return values_.end(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  int64_t operator[](size_t i) const { return values_[i]; }

 private:
  Shape values_;
};

namespace detail {
[[noreturn]] FLAMBEAU_API void refuse_length(IntList given, int expected, ArgumentName name);
}

/// A list of `count` integers.
template <int count>
class Ints {
 public:
  /// A list of one stands for `count` of it. RuntimeError for any other length.
  Ints(IntList given, ArgumentName name) {
    if (FLAMBEAU_LIKELY(given.size() == count)) {
      std::copy_n(given.data(), count, values_.begin());
    } else if (given.size() == 1) {
      values_.fill(given[0]);
    } else {
      detail::refuse_length(given, count, name);
    }
  }
  /// For kernels that call one another.
  explicit Ints(const std::array<int64_t, count>& values) : values_(values) {}
  operator IntList() const { return values_; }  // implicit on purpose
  int64_t operator[](size_t i) const { return values_[i]; }
  static constexpr size_t size() { return count; }

 private:
  std::array<int64_t, count> values_;
};

/// A checked argument where one was given.
template <class Checked, class Given, class... Context>
std::optional<Checked> if_given(const std::optional<Given>& given, const Context&... context) {
  if (!given) return std::nullopt;
  return std::optional<Checked>(std::in_place, *given, context...);
}
/// An empty list stands for none, as where PyTorch takes one.
template <int count>
std::optional<Ints<count>> ints_if_given(const std::optional<IntList>& given, ArgumentName name) {
  if (!given || given->empty()) return std::nullopt;
  return Ints<count>(*given, name);
}

/// RuntimeError for a negative size.
FLAMBEAU_API void check_size(int64_t given, ArgumentName name);
inline void check_size(const std::optional<int64_t>& given, ArgumentName name) {
  if (given) check_size(*given, name);
}
/// RuntimeError for a negative size, and for a number of elements past 64 bits.
FLAMBEAU_API void check_sizes(IntList given, ArgumentName name);

/// The index counted from the front. IndexError outside [-size, size).
FLAMBEAU_API int64_t index_from_front(int64_t given, int64_t size, ArgumentName name);

}  // namespace flambeau
