#pragma once

#include "cpu/blocks.h"

namespace flambeau::cpu {

/// The segments of rows of `n` places: bounds [rows, segments + 1], which may be anything.
class SegmentRuns {
 public:
  SegmentRuns(const Tensor& bounds, int64_t n)
      : dense_(dense_indices(bounds)), each_(bounds.size(-1)), n_(n) {}

  /// body(first, last, row, segment) for runs of places of all rows: those in no segment have the
  /// number `segments`. `cost`: of a place.
  template <class Body>
  void parallel(int64_t cost, const Body& body) const {
    const int64_t segments = each_ - 1, rows = dense_.numel() / each_;
    if (segments == 0) {
      for (int64_t row = 0; row < rows; ++row) body(0, n_, row, 0);
      return;
    }
    const int64_t all = rows * segments, places = std::max<int64_t>(1, n_ / segments * cost);
    // Segments of descending bounds overlap.
    const int64_t grain = ascends(rows) ? std::max<int64_t>(1, kGrain / places) : all;
    parallel_for(0, all, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / segments, segment = i % segments;
        const int64_t first = bound(row, segment), last = bound(row, segment + 1);
        if (segment == 0 && first > 0) body(0, first, row, segments);
        if (last > first) body(first, last, row, segment);
        if (segment == segments - 1 && last < n_) body(last, n_, row, segments);
      }
    });
  }

  /// One segment, and some of the columns of its places.
  struct Part {
    int64_t row, segment, first, last, column, columns;
  };
  /// body(part) for all segments, those without places too, of `inner` columns.
  template <class Body>
  void parts(int64_t inner, const Body& body) const {
    constexpr int64_t kColumns = 256;
    const int64_t segments = each_ - 1, blocks = (inner + kColumns - 1) / kColumns;
    const int64_t all = segments > 0 ? dense_.numel() / each_ * segments : 0;
    if (all == 0) return;
    const int64_t places = std::max<int64_t>(1, n_ / segments * std::min(inner, kColumns));
    parallel_for(0, all * blocks, std::max<int64_t>(1, kGrain / places),
                 [&](int64_t begin, int64_t end) {
                   int64_t row = begin / blocks / segments, segment = begin / blocks % segments;
                   int64_t column = begin % blocks * kColumns;
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t first = bound(row, segment), next = bound(row, segment + 1);
                     body(Part{row, segment, first, std::max(first, next), column,
                               std::min(kColumns, inner - column)});
                     if ((column += kColumns) < inner) continue;
                     column = 0;
                     if (++segment < segments) continue;
                     segment = 0;
                     ++row;
                   }
                 });
  }

 private:
  int64_t bound(int64_t row, int64_t i) const {
    return std::clamp<int64_t>(dense_.data<int64_t>()[row * each_ + i], 0, n_);
  }
  bool ascends(int64_t rows) const {
    const int64_t* const bounds = dense_.data<int64_t>();
    for (int64_t row = 0; row < rows; ++row)
      if (!std::is_sorted(bounds + row * each_, bounds + (row + 1) * each_)) return false;
    return true;
  }

  Tensor dense_;
  int64_t each_, n_;
};

}  // namespace flambeau::cpu
