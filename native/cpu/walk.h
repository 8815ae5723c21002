#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/geometry/shape.h"
#include "core/threads/parallel.h"

namespace flambeau::cpu {

/// Bytes of a copy that are worth a thread.
inline constexpr int64_t kCopyGrain = int64_t{1} << 18;

/// In pieces: more than a second-level cache holds is copied by slower instructions by some C
/// libraries.
inline void copy_dense(char* to, const char* from, int64_t bytes) {
  for (; bytes > kCopyGrain; to += kCopyGrain, from += kCopyGrain, bytes -= kCopyGrain)
    std::memcpy(to, from, kCopyGrain);
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

/// The dims of one or two tensors of one shape, ordered by the strides of the first and merged:
/// what copies and fills walk. Any rank; the iterator itself relies on copies of high rank.
struct Walk {
  int rank = 0;  // at least 1 after build
  int64_t numel = 1;
  int64_t extent[kMaxDims], to[kMaxDims], from[kMaxDims];  // innermost first, strides in bytes

  void build(IntList sizes, IntList to_strides, int64_t to_bytes, const Shape* from_strides,
             int64_t from_bytes) {
    struct Dim {
      int64_t extent, to, from;
    } dims[kMaxDims];
    int count = 0;
    for (size_t d = sizes.size(); d-- > 0;) {
      numel *= sizes[d];
      if (sizes[d] == 1) continue;
      dims[count++] = {sizes[d], to_strides[d] * to_bytes,
                       from_strides ? (*from_strides)[d] * from_bytes : 0};
    }
    std::stable_sort(dims, dims + count,
                     [](const Dim& a, const Dim& b) { return std::abs(a.to) < std::abs(b.to); });
    for (int d = 0; d < count; ++d) {
      const int inner = rank - 1;
      if (rank > 0 && dims[d].to == to[inner] * extent[inner] &&
          dims[d].from == from[inner] * extent[inner]) {
        extent[inner] *= dims[d].extent;
        continue;
      }
      extent[rank] = dims[d].extent;
      to[rank] = dims[d].to;
      from[rank] = dims[d].from;
      ++rank;
    }
    if (rank == 0) {
      rank = 1;
      extent[0] = 1;
      to[0] = to_bytes;
      from[0] = from_bytes;
    }
  }

  /// The dims but the innermost, of which there are at least two.
  Walk outer() const { return without(0); }

  /// The dims but one, of which there are at least two.
  Walk without(int dim) const {
    Walk walk = *this;
    walk.numel = numel / extent[dim];
    walk.rank = rank - 1;
    std::copy_n(extent + dim + 1, rank - dim - 1, walk.extent + dim);
    std::copy_n(to + dim + 1, rank - dim - 1, walk.to + dim);
    std::copy_n(from + dim + 1, rank - dim - 1, walk.from + dim);
    return walk;
  }

  /// The same in another order: a short innermost dim changes places with a longer one about it, as
  /// far as what both cover stays in a cache.
  Walk with_longer_runs() const {
    constexpr int64_t kShort = 8;
    Walk walk = *this;
    if (rank > 1 && extent[0] < kShort && extent[1] > extent[0] &&
        extent[1] * std::abs(to[1]) <= kCopyGrain && extent[1] * std::abs(from[1]) <= kCopyGrain) {
      std::swap(walk.extent[0], walk.extent[1]);
      std::swap(walk.to[0], walk.to[1]);
      std::swap(walk.from[0], walk.from[1]);
    }
    return walk;
  }

  /// Calls body(to_offset, from_offset, count) for innermost runs that cover elements [begin, end).
  template <class Body>
  void for_runs(int64_t begin, int64_t end, const Body& body) const {
    int64_t index[kMaxDims], to_offset = 0, from_offset = 0, rest = begin;
    for (int d = 0; d < rank; ++d) {
      index[d] = rest % extent[d];
      rest /= extent[d];
      to_offset += index[d] * to[d];
      from_offset += index[d] * from[d];
    }
    while (begin < end) {
      const int64_t run = std::min(extent[0] - index[0], end - begin);
      body(to_offset, from_offset, run);
      begin += run;
      index[0] += run;
      to_offset += run * to[0];
      from_offset += run * from[0];
      for (int d = 0; d + 1 < rank && index[d] == extent[d]; ++d) {
        index[d] = 0;
        ++index[d + 1];
        to_offset += to[d + 1] - extent[d] * to[d];
        from_offset += from[d + 1] - extent[d] * from[d];
      }
    }
  }
};

/// Two words, for elements of 16 bytes.
struct Bytes16 {
  uint64_t low, high;
  friend bool operator==(Bytes16, Bytes16) = default;
};

/// Calls body with a value of the unsigned type of that size.
template <class Body>
void with_size(int64_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    case 8:
      return body(uint64_t{});
    default:
      return body(Bytes16{});
  }
}

}  // namespace flambeau::cpu
