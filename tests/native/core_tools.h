#pragma once

/// Independent, slow ways to read and write tensors, and random geometry, for the tests of the
/// core.

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace flambeau::testing {

/// Calls body(index) for every multi-index of the shape, in row-major order.
inline void for_each_index(IntList sizes, const std::function<void(const Shape&)>& body) {
  for (const int64_t size : sizes)
    if (size == 0) return;
  Shape index(sizes.size(), 0);
  for (;;) {
    body(index);
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

/// The address of an element, with broadcasting of missing dims and of size 1.
inline char* address(const Tensor& tensor, const Shape& index) {
  int64_t offset = tensor.offset();
  const size_t missing = index.size() - tensor.sizes().size();
  for (size_t d = 0; d < tensor.sizes().size(); ++d)
    if (tensor.sizes()[d] != 1) offset += index[missing + d] * tensor.strides()[d];
  return static_cast<char*>(tensor.storage()->data()) +
         offset * static_cast<int64_t>(tensor.itemsize());
}
template <class T>
T& at(const Tensor& tensor, const Shape& index) {
  return *reinterpret_cast<T*>(address(tensor, index));
}

/// Elements in row-major order.
template <class T>
std::vector<T> values(const Tensor& tensor) {
  std::vector<T> result;
  for_each_index(tensor.sizes(),
                 [&](const Shape& index) { result.push_back(at<T>(tensor, index)); });
  return result;
}

/// 0, 1, 2, ... in row-major order.
template <class T>
void count_up(const Tensor& tensor) {
  int64_t next = 0;
  for_each_index(tensor.sizes(),
                 [&](const Shape& index) { at<T>(tensor, index) = static_cast<T>(next++ % 100); });
}

template <class T>
Tensor arange(IntList sizes) {
  const Tensor tensor = empty(sizes, dtype_of<T>);
  count_up<T>(tensor);
  return tensor;
}

/// Permuted, sliced, reversed: any layout without overlap, of the given sizes.
inline Tensor random_layout(std::mt19937& random, IntList sizes, DType dtype) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (below(2)) std::shuffle(order.begin(), order.end(), random);
  Shape strides(sizes.size(), 1);
  int64_t step = 1, offset = below(3);
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    const int64_t gap = below(4) == 0 ? 2 : 1;
    strides[d] = step * gap;
    step *= std::max<int64_t>(sizes[d], 1) * gap + (below(5) == 0 ? 1 : 0);
    if (below(6) == 0 && sizes[d] > 0) {
      offset += (sizes[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
  }
  const Tensor base = empty(Shape{step + offset}, dtype);
  return make_view(base, sizes, strides, offset);
}

inline Shape random_shape(std::mt19937& random, size_t max_rank, int64_t max_size) {
  Shape shape;
  const size_t rank = random() % (max_rank + 1);
  for (size_t i = 0; i < rank; ++i)
    shape.push_back(random() % 12 == 0
                        ? 0
                        : 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(max_size)));
  return shape;
}

/// The Error of that kind that body throws must mention `text`.
template <class Body>
bool throws(ErrorKind kind, const std::string& text, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.kind() == kind && std::string(error.what()).find(text) != std::string::npos)
      return true;
    std::printf("  unexpected error: %s\n", error.what());
    return false;
  }
  std::printf("  no error\n");
  return false;
}

}  // namespace flambeau::testing
