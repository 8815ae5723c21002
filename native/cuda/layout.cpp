#include "cuda/layout.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace flambeau::cuda {

namespace {
/// Bytes that an operand reaches over in dims [0, outer) and `length` indices of dim `outer`.
int64_t reach(const Iterator& iter, int operand, int outer, int64_t length) {
  int64_t bytes = (length - 1) * std::abs(iter.byte_stride(operand, outer));
  for (int d = 0; d < outer; ++d)
    bytes += (iter.extent(d) - 1) * std::abs(iter.byte_stride(operand, d));
  return bytes;
}

bool in_reach(const Iterator& iter, int outer, int64_t length, int64_t elements) {
  if (elements > kPieceElements) return false;
  for (int i = 0; i < iter.operand_count(); ++i)
    if (reach(iter, i, outer, length) > kPieceBytes) return false;
  return true;
}

/// A number's bytes lie inside the iterator itself.
bool is_number(const Iterator& iter, int operand) {
  const char* begin = reinterpret_cast<const char*>(&iter);
  const char* data = iter.data(operand);
  return data >= begin && data < begin + sizeof(Iterator);
}
}  // namespace

Pieces::Pieces(const Iterator& iter) : iter_(iter), rank_(iter.rank()) {
  // The outermost dims are cut: the largest block of whole inner dims that fits, times as many
  // indices of the next dim as fit.
  while (outer_ + 1 < rank_ &&
         in_reach(iter, outer_, iter.extent(outer_), inner_ * iter.extent(outer_))) {
    inner_ *= iter.extent(outer_);
    ++outer_;
  }
  step_ = iter.extent(outer_);
  while (step_ > 1 && !in_reach(iter, outer_, step_, inner_ * step_)) {
    step_ = (step_ + 1) / 2;
    // Groups of elements and of random numbers begin at multiples of 4096.
    if (step_ > 4096) step_ = step_ / 4096 * 4096;
  }
}

bool Pieces::next() {
  position_ += length_;
  if (position_ >= iter_.numel()) return false;
  const int64_t index = position_ / inner_ % iter_.extent(outer_);
  length_ = std::min(step_, iter_.extent(outer_) - index) * inner_;
  return true;
}

void Pieces::lay_out(LayoutHead& head, char** data, Number* numbers, int32_t* strides,
                     const uint8_t* bytes, int vector) const {
  const int operands = iter_.operand_count();
  head.first = static_cast<uint64_t>(position_);
  head.count = static_cast<uint32_t>(length_);
  head.rank = outer_ + 1;
  for (int d = 0; d < outer_; ++d)
    head.extents[d] = Divider(static_cast<uint32_t>(iter_.extent(d)));
  head.extents[outer_] = Divider(static_cast<uint32_t>(length_ / inner_));

  bool dense = head.rank == 1;
  for (int i = 0; i < operands; ++i) {
    if (is_number(iter_, i)) {
      head.by_value |= 1u << i;
      head.repeated |= 1u << i;
      std::memcpy(numbers[i].bytes, iter_.data(i), sizeof numbers[i].bytes);
      data[i] = nullptr;
      for (int d = 0; d < head.rank; ++d) strides[d * operands + i] = 0;
      continue;
    }
    int64_t rest = position_ / inner_, offset = 0;
    for (int d = outer_; d < rank_; ++d) {
      offset += rest % iter_.extent(d) * iter_.byte_stride(i, d);
      rest /= iter_.extent(d);
    }
    data[i] = iter_.data(i) + offset;
    for (int d = 0; d < head.rank; ++d) {
      // A dim of one index is never stepped through, and its stride may be out of range.
      const bool single = d == outer_ && length_ == inner_;
      strides[d * operands + i] = single ? 0 : static_cast<int32_t>(iter_.byte_stride(i, d));
    }
    if (head.rank != 1) continue;
    const int64_t stride = iter_.byte_stride(i, 0);
    const auto alignment = static_cast<uintptr_t>(bytes[i] * vector);
    if (i >= iter_.output_count() && stride == 0) {
      head.repeated |= 1u << i;
    } else {
      dense &= stride == bytes[i] && reinterpret_cast<uintptr_t>(data[i]) % alignment == 0;
    }
  }
  head.vectors = dense ? head.count / static_cast<uint32_t>(vector) : 0;
}

}  // namespace flambeau::cuda
