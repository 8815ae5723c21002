#include <algorithm>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/dtype_switch.h"
#include "cpu/index/advanced.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kChunk = 65536;
constexpr int64_t kListed = 1024;

/// Coordinates of elements of a shape by their number, row after row of int64. Neighbours are
/// mostly in one row of the shape: all coordinates but the last stay.
class Coordinates {
 public:
  explicit Coordinates(const Shape& sizes) : sizes_(sizes), leading_(sizes.size() - 1, 0) {}

  void write(const int64_t* numbers, int64_t count, int64_t* out) {
    const int64_t leading = static_cast<int64_t>(leading_.size());
    if (leading == 0) {
      std::copy_n(numbers, count, out);
      return;
    }
    for (int64_t i = 0; i < count; ++i, out += leading + 1) {
      if (numbers[i] >= row_end_) go_to_row_of(numbers[i]);
      for (int64_t d = 0; d < leading; ++d) out[d] = leading_[static_cast<size_t>(d)];
      out[leading] = numbers[i] - row_begin_;
    }
  }

 private:
  void go_to_row_of(int64_t number) {
    const int64_t width = sizes_[sizes_.size() - 1];
    int64_t row = number / width;
    row_begin_ = row * width;
    row_end_ = row_begin_ + width;
    for (size_t d = leading_.size(); d-- > 0;) {
      leading_[d] = row % sizes_[d];
      row /= sizes_[d];
    }
  }

  const Shape& sizes_;
  Shape leading_;
  int64_t row_begin_ = 0, row_end_ = 0;
};

template <class T>
int64_t count_nonzero(const T* data, int64_t count) {
  uint32_t found = 0;  // of at most a chunk
#pragma omp simd reduction(+ : found)
  for (int64_t i = 0; i < count; ++i) found += is_nonzero(data[i]) ? 1 : 0;
  return found;
}

/// The numbers of the elements that are not 0, `first` being that of the first, into a list that is
/// as long: without branches, which would be wrong half of the time.
template <class T>
int64_t list_nonzero(const T* data, int64_t first, int64_t count, int64_t* list) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    list[found] = first + i;
    found += is_nonzero(data[i]) ? 1 : 0;
  }
  return found;
}

template <class T>
Tensor positions(const Tensor& tensor) {
  const Tensor dense = contiguous_data(tensor);
  const T* const data = dense.data<T>();
  const int64_t numel = dense.numel(), chunks = (numel + kChunk - 1) / kChunk;
  // Each chunk counts first, so that all of them can write at once.
  std::vector<int64_t> starts(static_cast<size_t>(chunks) + 1, 0);
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = c * kChunk, size = std::min(numel - first, kChunk);
      starts[static_cast<size_t>(c) + 1] = count_nonzero(data + first, size);
    }
  });
  for (size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
  const int64_t rank = tensor.dim();
  const Tensor result = flambeau::empty(Shape{starts.back(), rank}, DType::int64, tensor.device());
  if (rank == 0 || starts.back() == 0) return result;
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    Coordinates coordinates(tensor.sizes());
    int64_t list[kListed];
    int64_t at = starts[static_cast<size_t>(begin)];
    // Others may have changed the elements since they were counted.
    const int64_t full = starts[static_cast<size_t>(end)], stop = std::min(numel, end * kChunk);
    for (int64_t i = begin * kChunk; i < stop && at < full; i += kListed) {
      const int64_t found = list_nonzero(data + i, i, std::min(stop - i, kListed), list);
      const int64_t kept = std::min(found, full - at);
      coordinates.write(list, kept, result.data<int64_t>() + at * rank);
      at += kept;
    }
    int64_t* const out = result.data<int64_t>();
    std::fill(out + at * rank, out + full * rank, 0);  // for those that are gone
  });
  return result;
}

/// Those of the first elements that are not 0, as many as `result` has rows; how many there are.
template <class T>
int64_t first_positions(const Tensor& result, const Tensor& tensor) {
  const Tensor dense = contiguous_data(tensor);
  const T* const data = dense.data<T>();
  const int64_t numel = dense.numel(), wanted = result.size(0), rank = result.size(1);
  Coordinates coordinates(tensor.sizes());
  int64_t list[kListed];
  int64_t at = 0;
  for (int64_t i = 0; i < numel && at < wanted; i += kListed) {
    const int64_t found = list_nonzero(data + i, i, std::min(numel - i, kListed), list);
    const int64_t kept = std::min(found, wanted - at);
    coordinates.write(list, kept, result.data<int64_t>() + at * rank);
    at += kept;
    check_interrupt();
  }
  return at;
}

}  // namespace

Tensor positions_of_nonzero(const Tensor& tensor) {
  return visit_stored_dtype(tensor.dtype(), [&]<class T>() { return positions<T>(tensor); });
}

Tensor argwhere(const Tensor& self) { return positions_of_nonzero(self); }

void nonzero_static(const Tensor& result, const Tensor& self, int64_t, int64_t fill_value) {
  if (result.numel() == 0) return;
  const int64_t found =
      visit_stored_dtype(self.dtype(), [&]<class T>() { return first_positions<T>(result, self); });
  int64_t* const out = result.data<int64_t>();
  std::fill(out + found * result.size(1), out + result.numel(), fill_value);
}

}  // namespace flambeau::cpu
