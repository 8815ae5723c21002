#pragma once

#include "core/random/random.h"

namespace flambeau {

/// The endless sequence of numbers of one element, for methods that try until a draw is accepted.
/// An element takes one counter of the stream, however many numbers it uses.
class RandomSequence {
 public:
  RandomSequence(const RandomStream& stream, int64_t element)
      : stream_(stream), counter_(static_cast<uint64_t>(element)) {}

  /// Uniform in (0, 1), 53 bits.
  double uniform() {
    if (used_ == 4) {
      words_ = random_words(stream_, counter_, block_++);
      used_ = 0;
    }
    const double low_end = uniform_double(words_.word[used_], words_.word[used_ + 1]);
    used_ += 2;
    return low_end + 0x1p-54;
  }

 private:
  const RandomStream& stream_;
  uint64_t counter_;
  uint32_t block_ = 0;
  RandomWords words_{};
  size_t used_ = 4;
};

}  // namespace flambeau
