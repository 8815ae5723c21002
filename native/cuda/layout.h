#pragma once

/// How an Iterator's operands reach a kernel: what is the same for all formulas.

#include <cstdint>

#include "core/base/macros.h"
#include "core/iteration/iterator.h"

namespace flambeau::cuda {

/// Divides numbers below 2^31 by a fixed one, with a product and a shift: T. Granlund, P.
/// Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
struct Divider {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  Divider() = default;
  explicit Divider(uint32_t by) : divisor(by) {
    while (shift < 31 && (uint32_t{1} << shift) < by) ++shift;
    const uint64_t rest = (uint64_t{1} << shift) - by;
    multiplier = static_cast<uint32_t>((rest << 32) / by + 1);
  }
  FLAMBEAU_HOST_DEVICE uint32_t divide(uint32_t number) const {
#ifdef __CUDA_ARCH__
    return (__umulhi(number, multiplier) + number) >> shift;
#else
    return (static_cast<uint32_t>(static_cast<uint64_t>(number) * multiplier >> 32) + number) >>
           shift;
#endif
  }
};

/// An input's one element, passed with the kernel's arguments.
struct Number {
  alignas(16) char bytes[16];
};

inline constexpr int kMapRank = 16;
/// Elements of one launch at most: indices and byte offsets are 32-bit numbers.
inline constexpr int64_t kPieceElements = int64_t{1} << 30;
inline constexpr int64_t kPieceBytes = (int64_t{1} << 31) - 1;

/// What does not depend on the number of operands.
struct LayoutHead {
  uint64_t first = 0;     ///< position of element 0 in the iterator's order
  uint32_t count = 0;     ///< elements
  uint32_t vectors = 0;   ///< groups of dense elements, from the start; the rest is walked singly
  uint32_t repeated = 0;  ///< bit i: operand i has one element for all
  uint32_t by_value = 0;  ///< bit i: it is in numbers[i], not in memory
  int32_t rank = 1;
  Divider extents[kMapRank];
};

template <int kOperands>
struct Layout : LayoutHead {
  char* data[kOperands];
  Number numbers[kOperands];
  int32_t strides[kMapRank][kOperands];  ///< in bytes
};

/// Cuts an iterator's elements into runs, in its order, that 32-bit offsets can reach.
class FLAMBEAU_API Pieces {
 public:
  explicit Pieces(const Iterator& iter);
  /// Moves on to the next piece, the first one to begin with; false when there is none.
  bool next();
  /// `bytes`: element sizes of the operands; `vector`: elements of a group.
  void lay_out(LayoutHead& head, char** data, Number* numbers, int32_t* strides,
               const uint8_t* bytes, int vector) const;

 private:
  bool fits(int outer) const;

  const Iterator& iter_;
  int rank_;
  /// Dims below outer_ are whole; outer_ itself is taken `step_` indices at a time.
  int outer_ = 0;
  int64_t step_ = 1, inner_ = 1, position_ = 0, length_ = 0;
};

}  // namespace flambeau::cuda
