#include <algorithm>
#include <numeric>
#include <vector>

#include "core/tensor/overlap.h"

namespace flambeau {

namespace {
/// The bytes that a non-empty tensor reaches: [begin, end).
struct Range {
  const char *begin, *end;
};
Range range_of(const Tensor& tensor) {
  const int64_t bytes = static_cast<int64_t>(tensor.itemsize());
  int64_t lowest = 0, highest = bytes;
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    const int64_t step = (tensor.sizes()[i] - 1) * tensor.strides()[i] * bytes;
    (step < 0 ? lowest : highest) += step;
  }
  const char* data = tensor.data<const char>();
  return {data + lowest, data + highest};
}

/// The greatest common divisor of the byte strides that are walked.
int64_t stride_divisor(const Tensor& tensor) {
  int64_t divisor = 0;
  for (size_t i = 0; i < tensor.sizes().size(); ++i)
    if (tensor.sizes()[i] > 1) divisor = std::gcd(divisor, tensor.strides()[i]);
  return divisor * static_cast<int64_t>(tensor.itemsize());
}

struct WalkedDim {
  int64_t stride, size;
};
/// Dims with more than one element by growing stride. 0: a stride is 0.
int walked_dims(IntList sizes, IntList strides, WalkedDim* dims) {
  int count = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    dims[count++] = {strides[i] < 0 ? -strides[i] : strides[i], sizes[i]};
  }
  std::sort(dims, dims + count, [](WalkedDim a, WalkedDim b) { return a.stride < b.stride; });
  return count;
}
}  // namespace

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0 || a.device() != b.device() || a.device().is_meta())
    return false;
  const Range first = range_of(a), second = range_of(b);
  if (first.end <= second.begin || second.end <= first.begin) return false;
  // Interleaved, as x[::2] and x[1::2]: all addresses agree modulo the strides' divisor.
  const int64_t divisor = std::gcd(stride_divisor(a), stride_divisor(b));
  if (divisor == 0) return true;
  const int64_t distance = b.data<const char>() - a.data<const char>();
  const int64_t shift = ((distance % divisor) + divisor) % divisor;
  return shift < static_cast<int64_t>(a.itemsize()) ||
         divisor - shift < static_cast<int64_t>(b.itemsize());
}

bool has_internal_overlap(const Tensor& tensor) {
  if (tensor.is_contiguous() || tensor.numel() <= 1) return false;
  WalkedDim dims[kMaxDims];
  const int count = walked_dims(tensor.sizes(), tensor.strides(), dims);
  if (count > 0 && dims[0].stride == 0) return true;
  int64_t reach = 0;  // of the inner dims, in elements
  bool nested = true;
  for (int i = 0; i < count; ++i) {
    nested &= dims[i].stride > reach;
    reach += (dims[i].size - 1) * dims[i].stride;
  }
  if (nested) return false;
  // Dims that reach over each other may still miss each other: mark every address. Rare.
  if (tensor.numel() > reach + 1) return true;
  std::vector<bool> seen(static_cast<size_t>(reach) + 1);
  int64_t index[kMaxDims] = {}, address = 0;
  for (;;) {
    if (seen[static_cast<size_t>(address)]) return true;
    seen[static_cast<size_t>(address)] = true;
    int d = 0;
    for (; d < count; ++d) {
      address += dims[d].stride;
      if (++index[d] < dims[d].size) break;
      address -= dims[d].stride * dims[d].size;
      index[d] = 0;
    }
    if (d == count) return false;
  }
}

void check_writable(const Tensor& tensor, const char* op) {
  check(!has_internal_overlap(tensor), ErrorKind::runtime, op,
        ": cannot write to a tensor of shape ", tensor.sizes(), " and strides ", tensor.strides(),
        ": several of its elements share memory (was it expanded?); clone it first");
}

bool is_non_overlapping_dense(IntList sizes, IntList strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1 && strides[i] < 0) return false;  // begins at its end
  WalkedDim dims[kMaxDims];
  const int count = walked_dims(sizes, strides, dims);
  int64_t expected = 1;
  for (int i = 0; i < count; ++i) {
    if (dims[i].stride != expected) return false;
    expected *= dims[i].size;
  }
  return true;
}

}  // namespace flambeau
