#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>

#include "core/base/assert.h"
#include "core/base/error.h"

namespace flambeau {

/// A read-only run of integers: sizes, strides, dims.
using IntList = std::span<const int64_t>;

inline constexpr int kMaxDims = 64;

/// A short list of integers that owns its storage; inline up to kInline elements.
class FLAMBEAU_API Shape {
 public:
  static constexpr int kInline = 6;
  Shape() = default;
  Shape(std::initializer_list<int64_t> values) : Shape(IntList(values.begin(), values.size())) {}
  Shape(IntList values) { assign(values); }  // implicit on purpose
  Shape(size_t count, int64_t value);
  Shape(const Shape& other) : Shape(IntList(other)) {}
  Shape(Shape&& other) noexcept;
  Shape& operator=(const Shape& other) {
    if (this != &other) assign(other);
    return *this;
  }
  Shape& operator=(Shape&& other) noexcept;
  ~Shape() {
    if (data_ != inline_) delete[] data_;
  }
  void assign(IntList values) {
    if (FLAMBEAU_UNLIKELY(values.size() > capacity_)) return assign_large(values);
    // Forwards: right for a part of this list too.
    for (size_t i = 0; i < values.size(); ++i) data_[i] = values[i];
    size_ = static_cast<uint32_t>(values.size());
  }
  void resize(size_t count, int64_t value = 0);
  /// The new length; the contents are unspecified.
  void reset(size_t count) {
    if (FLAMBEAU_UNLIKELY(count > capacity_)) return resize(count);
    size_ = static_cast<uint32_t>(count);
  }
  void push_back(int64_t value);
  void insert(size_t position, int64_t value);
  void erase(size_t position);
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t& operator[](size_t i) {
    FLAMBEAU_ASSERT(i < size_);
    return data_[i];
  }
  int64_t operator[](size_t i) const {
    FLAMBEAU_ASSERT(i < size_);
    return data_[i];
  }
  int64_t& back() {
    FLAMBEAU_ASSERT(size_ > 0);
    return data_[size_ - 1];
  }
  operator IntList() const { return {data_, size_}; }

 private:
  void assign_large(IntList values);
  int64_t* data_ = inline_;
  uint32_t size_ = 0, capacity_ = kInline;
  int64_t inline_[kInline];
};

FLAMBEAU_API bool equal(IntList a, IntList b);
inline bool operator==(const Shape& a, const Shape& b) { return equal(a, b); }

/// Product of the sizes; Error(runtime) on a negative size or when it overflows int64.
FLAMBEAU_API int64_t checked_numel(IntList sizes, const char* op);
/// Row-major strides of a dense tensor.
FLAMBEAU_API Shape contiguous_strides(IntList sizes);
/// Wraps a negative dim; IndexError naming `op` when it is outside [-rank, rank) (a 0-d tensor
/// accepts -1 and 0).
FLAMBEAU_API int64_t wrap_dim(int64_t dim, int64_t rank, const char* op);

/// "[2, 3]", as PyTorch prints a size.
struct ShapeText {
  IntList sizes;
};
FLAMBEAU_API std::ostream& operator<<(std::ostream& stream, const ShapeText& text);
FLAMBEAU_API std::ostream& operator<<(std::ostream& stream, const Shape& shape);

}  // namespace flambeau
