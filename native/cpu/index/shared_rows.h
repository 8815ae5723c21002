#pragma once

#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/blocks.h"

namespace flambeau::cpu {

/// What a thread writes to: rows at these places along a dim, and of them these columns.
struct RowsPart {
  int64_t first_place, last_place, first_column, last_column;
};

/// Calls body(part) on several threads, none of which writes what another writes, whatever the
/// indices: for `rows` indices, each of which sends `columns` elements to one of `places`. Threads
/// share out the places, each looking for its own among all indices; columns only where there are
/// too few of these, as the lines of cache where columns are parted go back and forth for every
/// row. `cost`: of an element.
template <class Body>
void share_rows(int64_t rows, int64_t places, int64_t columns, int64_t cost, const Body& body) {
  constexpr int64_t kLeastRow = 8;  // elements that are worth more than a look at an index
  const int64_t threads = std::min<int64_t>(num_threads(), rows * columns * cost / kGrain);
  if (threads > 1 && places >= threads && columns >= kLeastRow && !in_parallel_region())
    return parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      body(RowsPart{begin * places / threads, end * places / threads, 0, columns});
    });
  const int64_t grain = std::max(kLeastColumns, kGrain / std::max<int64_t>(1, rows * cost));
  parallel_for(0, columns, grain, [&](int64_t begin, int64_t end) {
    body(RowsPart{0, places, begin, end});
  });
}

}  // namespace flambeau::cpu
