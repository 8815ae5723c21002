#pragma once

#include <algorithm>
#include <vector>

#include "cpu/transpose.h"
#include "cpu/walk.h"

// Copies in which some dims that are one in the destination lie across some that are one in the
// source, as where pixels become channels: matrices whose rows and columns may be of several dims.

namespace flambeau::cpu {

/// Dims of a walk that are one dim in memory on one side, and where their elements lie on the
/// other.
struct DimGroup {
  std::vector<int> dims;
  std::vector<int64_t> offsets{0};

  int64_t count() const { return static_cast<int64_t>(offsets.size()); }
  bool has(int dim) const { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }
  void add(int dim, int64_t extent, int64_t step) {
    const int64_t inner = count();
    for (int64_t i = 1; i < extent; ++i)
      for (int64_t j = 0; j < inner; ++j)
        offsets.push_back(offsets[static_cast<size_t>(j)] + i * step);
    dims.push_back(dim);
  }
};

struct TurnedGroups {
  DimGroup columns, rows;  ///< dense in the destination; dense in the source
  bool found = false;
};

/// The groups of a copy of elements of so many bytes, of `least` elements each.
inline TurnedGroups turned_groups(const Walk& walk, int64_t bytes, int64_t least) {
  constexpr int64_t kMost = 1 << 12;  // offsets, which stay near
  TurnedGroups groups;
  DimGroup &columns = groups.columns, &rows = groups.rows;
  const auto grow = [&](DimGroup& group, const DimGroup& other, const int64_t* dense,
                        const int64_t* apart) {
    while (group.count() < least) {
      int dim = 0;
      while (dim < walk.rank &&
             (group.has(dim) || other.has(dim) || dense[dim] != group.count() * bytes))
        ++dim;
      if (dim == walk.rank || walk.extent[dim] > kMost) return false;
      group.add(dim, walk.extent[dim], apart[dim]);
    }
    return true;
  };
  if (walk.rank < 3 || walk.to[0] != bytes || walk.from[0] == bytes) return groups;
  if (walk.extent[0] > kMost) return groups;
  columns.add(0, walk.extent[0], walk.from[0]);
  groups.found = grow(rows, columns, walk.from, walk.to) && grow(columns, rows, walk.to, walk.from);
  return groups;
}

/// A matrix of both groups.
template <class Word>
[[gnu::flatten]] void copy_group(char* to, const char* from, const TurnedGroups& groups) {
  constexpr int64_t block = kBlock<Word>, bytes = sizeof(Word);
  const int64_t *const across = groups.columns.offsets.data(), *const down =
                                                                   groups.rows.offsets.data();
  const int64_t columns = groups.columns.count(), rows = groups.rows.count();
  const int64_t whole_rows = rows / block * block, whole_columns = columns / block * block;
  for (int64_t r = 0; r < whole_rows; r += block) {
    char* target[block];
    for (int64_t i = 0; i < block; ++i) target[i] = to + down[r + i];
    const char* const source = from + r * bytes;
    for (int64_t c = 0; c < whole_columns; c += block)
      transpose_rows<Word>(
          [&](int64_t i) { return reinterpret_cast<Word*>(target[i] + c * bytes); },
          [&](int64_t i) { return reinterpret_cast<const Word*>(source + across[c + i]); });
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      *reinterpret_cast<Word*>(to + down[r] + c * bytes) =
          *reinterpret_cast<const Word*>(from + across[c] + r * bytes);
}

/// Copies by groups that were found.
template <class Word>
void copy_turned_groups(char* to, const char* from, const Walk& walk, const TurnedGroups& groups) {
  Walk others = walk;
  for (int dim = walk.rank - 1; dim >= 0; --dim)
    if (groups.columns.has(dim) || groups.rows.has(dim)) others = others.without(dim);
  if (others.rank == 0) return copy_group<Word>(to, from, groups);
  const int64_t bytes = walk.numel / others.numel * static_cast<int64_t>(sizeof(Word));
  parallel_for(0, others.numel, std::max<int64_t>(1, kCopyGrain / bytes),
               [&](int64_t begin, int64_t end) {
                 others.for_runs(begin, end, [&](int64_t to_at, int64_t from_at, int64_t count) {
                   for (int64_t i = 0; i < count; ++i)
                     copy_group<Word>(to + to_at + i * others.to[0],
                                      from + from_at + i * others.from[0], groups);
                 });
               });
}

}  // namespace flambeau::cpu
