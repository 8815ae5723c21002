#include "core/geometry/shape.h"

#include <algorithm>
#include <utility>

namespace flambeau {

Shape::Shape(size_t count, int64_t value) { resize(count, value); }

Shape::Shape(Shape&& other) noexcept { *this = std::move(other); }

Shape& Shape::operator=(Shape&& other) noexcept {
  if (this == &other) return *this;
  if (data_ != inline_) delete[] data_;
  if (other.data_ == other.inline_) {
    data_ = inline_;
    capacity_ = kInline;
    std::copy_n(other.inline_, other.size_, inline_);
  } else {
    data_ = std::exchange(other.data_, other.inline_);
    capacity_ = std::exchange(other.capacity_, uint32_t{kInline});
  }
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void Shape::assign_large(IntList values) {
  int64_t* block = new int64_t[values.size()];
  std::copy(values.begin(), values.end(), block);
  if (data_ != inline_) delete[] data_;
  data_ = block;
  capacity_ = size_ = static_cast<uint32_t>(values.size());
}

void Shape::resize(size_t count, int64_t value) {
  if (count > capacity_) {
    const uint32_t capacity = std::max<uint32_t>(static_cast<uint32_t>(count), 2 * capacity_);
    int64_t* block = new int64_t[capacity];
    std::copy_n(data_, size_, block);
    if (data_ != inline_) delete[] data_;
    data_ = block;
    capacity_ = capacity;
  }
  if (count > size_) std::fill(data_ + size_, data_ + count, value);
  size_ = static_cast<uint32_t>(count);
}

void Shape::push_back(int64_t value) { resize(size_ + 1, value); }

void Shape::insert(size_t position, int64_t value) {
  FLAMBEAU_ASSERT(position <= size_);
  resize(size_ + 1);
  std::copy_backward(data_ + position, data_ + size_ - 1, data_ + size_);
  data_[position] = value;
}

void Shape::erase(size_t position) {
  FLAMBEAU_ASSERT(position < size_);
  std::copy(data_ + position + 1, data_ + size_, data_ + position);
  --size_;
}

bool equal(IntList a, IntList b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

int64_t checked_numel(IntList sizes, const char* op) {
  int64_t numel = 1;
  bool overflow = false, zero = false;
  for (const int64_t size : sizes) {
    check(size >= 0, ErrorKind::runtime, op, ": sizes must not be negative, got ",
          ShapeText{sizes});
    zero |= size == 0;
    overflow |= __builtin_mul_overflow(numel, size, &numel);
  }
  if (zero) return 0;
  check(!overflow, ErrorKind::runtime, op, ": the number of elements of shape ", ShapeText{sizes},
        " does not fit 64 bits");
  return numel;
}

Shape contiguous_strides(IntList sizes) {
  Shape strides(sizes);
  uint64_t step = 1;  // unsigned: the strides of an empty tensor may wrap around
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(step);
    step *= static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1));
  }
  return strides;
}

int64_t wrap_dim(int64_t dim, int64_t rank, const char* op) {
  const int64_t limit = rank == 0 ? 1 : rank;
  check(dim >= -limit && dim < limit, ErrorKind::index, op, ": dim ", dim,
        " is out of range for a tensor of ", rank, " dimensions; expected ", -limit, " to ",
        limit - 1);
  return dim < 0 ? dim + limit : dim;
}

std::ostream& operator<<(std::ostream& stream, const ShapeText& text) {
  stream << '[';
  for (size_t i = 0; i < text.sizes.size(); ++i) stream << (i ? ", " : "") << text.sizes[i];
  return stream << ']';
}
std::ostream& operator<<(std::ostream& stream, const Shape& shape) {
  return stream << ShapeText{shape};
}

}  // namespace flambeau
