#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "cpu/sort/parts.h"

namespace flambeau::cpu {

/// Runs of elements, counted in parts that threads share: count(begin, end) is how many begin in a
/// range.
class Runs {
 public:
  template <class Count>
  Runs(int64_t numel, const Count& count) : numel_(numel), parts_(parts_of_row(numel)) {
    before_.resize(static_cast<size_t>(parts_) + 1);
    over_parts(numel_, parts_, [&](int64_t part, int64_t begin, int64_t end) {
      int64_t found = 0;
      in_blocks(end - begin,
                [&](int64_t first, int64_t last) { found += count(begin + first, begin + last); });
      before_[static_cast<size_t>(part) + 1] = found;
    });
    std::partial_sum(before_.begin(), before_.end(), before_.begin());
  }

  int64_t count() const { return before_.back(); }

  /// Calls body(begin, end, run, last) for parts of the elements, in which runs [run, last) begin.
  template <class Body>
  void walk(const Body& body) const {
    over_parts(numel_, parts_, [&](int64_t part, int64_t begin, int64_t end) {
      const auto at = before_.begin() + part;
      body(begin, end, at[0], at[1]);
    });
  }

 private:
  int64_t numel_, parts_;
  std::vector<int64_t> before_;  // of each part and behind the last
};

/// The lengths of runs in place of where they start.
inline void lengths_of_runs(int64_t* starts, int64_t runs, int64_t numel) {
  const int64_t parts = parts_of_row(runs);
  // Where the runs of other parts start is read before they are overwritten.
  std::vector<int64_t> next(static_cast<size_t>(parts), numel);
  for (int64_t part = 0; part + 1 < parts; ++part)
    next[static_cast<size_t>(part)] = starts[runs * (part + 1) / parts];
  over_parts(runs, parts, [&](int64_t part, int64_t begin, int64_t end) {
    for (int64_t run = begin; run + 1 < end; ++run) starts[run] = starts[run + 1] - starts[run];
    if (begin < end) starts[end - 1] = next[static_cast<size_t>(part)] - starts[end - 1];
  });
}

}  // namespace flambeau::cpu
