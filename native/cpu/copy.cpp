#include "core/iteration/copy.h"

#include <algorithm>
#include <cstring>

#include "cpu/convert.h"
#include "cpu/fill_rows.h"
#include "cpu/short_rows.h"
#include "cpu/transpose.h"
#include "cpu/turn_words.h"
#include "cpu/turned_groups.h"
#include "cpu/walk.h"

namespace flambeau::cpu {

namespace {

void copy_bytes(char* to, const char* from, int64_t bytes) {
  parallel_for(0, bytes, kCopyGrain, [=](int64_t begin, int64_t end) {
    copy_dense(to + begin, from + begin, end - begin);
  });
}

template <class Word>
void copy_strided(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                  int64_t count) {
  if (to_stride == sizeof(Word) && from_stride == 0)
    return FLAMBEAU_PICK(fill_rows<Word>)(to, 0, from, 0, 1, count);
  for (int64_t i = 0; i < count; ++i, to += to_stride, from += from_stride)
    *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
}

/// One run of elements, with or without a conversion, any strides.
template <class ToWord, class FromWord>
void copy_run(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count,
              ConvertFunction* convert) {
  if (!convert) {
    if (to_stride == sizeof(ToWord) && from_stride == sizeof(ToWord)) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(ToWord));
    } else {
      copy_strided<ToWord>(to, to_stride, from, from_stride, count);
    }
    return;
  }
  const bool to_dense = to_stride == sizeof(ToWord), from_dense = from_stride == sizeof(FromWord);
  if (to_dense && from_dense) return convert(to, from, count);
  constexpr int64_t kPiece = 256;
  alignas(64) char gathered[kPiece * sizeof(FromWord)], converted[kPiece * sizeof(ToWord)];
  for (int64_t done = 0; done < count; done += kPiece) {
    const int64_t length = std::min(kPiece, count - done);
    const char* source = from + done * from_stride;
    char* target = to + done * to_stride;
    if (!from_dense) {
      copy_strided<FromWord>(gathered, sizeof(FromWord), source, from_stride, length);
      source = gathered;
    }
    if (to_dense) {
      convert(target, source, length);
    } else {
      convert(converted, source, length);
      copy_strided<ToWord>(target, to_stride, converted, sizeof(ToWord), length);
    }
  }
}

/// The innermost dim is dense in the destination and another one in the source: squares of
/// elements, so that each cache line is read and written once.
template <class Word>
constexpr int64_t kTileSize = sizeof(Word) >= 8 ? 32 : 64;

/// Through a small dense square, so that reads and writes are both dense, whatever the strides are
/// modulo the size of the cache. Row c of the square holds column c of the destination tile.
template <class Word>
void copy_tile(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t rows,
               int64_t columns, ConvertFunction* convert) {
  constexpr int64_t kTile = kTileSize<Word>;
  alignas(64) Word square[kTile][kTile];
  for (int64_t c = 0; c < columns; ++c) {
    const char* column = from + c * from_stride;
    if (rows == kTile) {
      std::memcpy(square[c], column, sizeof square[c]);
    } else {
      std::memcpy(square[c], column, static_cast<size_t>(rows) * sizeof(Word));
    }
  }
  const auto turn = FLAMBEAU_PICK(turn_words<Word>);
  if (!convert) {
    return turn(reinterpret_cast<Word*>(to), to_stride / static_cast<int64_t>(sizeof(Word)),
                square[0], kTile, rows, columns);
  }
  alignas(64) Word turned[kTile][kTile];
  turn(turned[0], kTile, square[0], kTile, rows, columns);
  for (int64_t r = 0; r < rows; ++r)
    convert(to + r * to_stride, reinterpret_cast<const char*>(turned[r]), columns);
}

/// The same of few elements, from registers.
template <class Word>
void copy_small_tile(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                     int64_t rows, int64_t columns) {
  constexpr int64_t block = kBlock<Word>;
  const int64_t whole_rows = rows / block * block, whole_columns = columns / block * block;
  Word* const target = reinterpret_cast<Word*>(to);
  const Word* const source = reinterpret_cast<const Word*>(from);
  to_stride /= static_cast<int64_t>(sizeof(Word));
  from_stride /= static_cast<int64_t>(sizeof(Word));
  for (int64_t r = 0; r < whole_rows; r += block) {
    for (int64_t c = 0; c < whole_columns; c += block)
      transpose_block(target + r * to_stride + c, to_stride, source + c * from_stride + r,
                      from_stride);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      target[r * to_stride + c] = source[c * from_stride + r];
  }
}

/// Many matrices that would leave most of a square empty.
template <class Word>
void copy_small_transposed(char* to, const char* from, const Walk& walk, int across) {
  const int64_t columns = walk.extent[0], rows = walk.extent[across];
  const Walk others = walk.without(across).without(0);
  const int64_t bytes = columns * rows * static_cast<int64_t>(sizeof(Word));
  const int64_t grain = std::max<int64_t>(kCopyGrain / bytes, 1);
  parallel_for(0, others.numel, grain, [&](int64_t begin, int64_t end) {
    others.for_runs(begin, end, [&](int64_t to_offset, int64_t from_offset, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        copy_small_tile<Word>(to + to_offset + i * others.to[0], walk.to[across],
                              from + from_offset + i * others.from[0], walk.from[0], rows, columns);
    });
  });
}

/// `across`: the dim that is dense in the source.
template <class Word>
void copy_transposed(char* to, const char* from, const Walk& walk, int across,
                     ConvertFunction* convert) {
  constexpr int64_t kTile = kTileSize<Word>;
  const int64_t columns = walk.extent[0], rows = walk.extent[across];
  const int64_t column_tiles = (columns + kTile - 1) / kTile;
  const int64_t row_tiles = (rows + kTile - 1) / kTile;
  const int64_t outer = walk.numel / (columns * rows);
  const int64_t grain =
      std::max<int64_t>(kCopyGrain / (kTile * kTile * static_cast<int64_t>(sizeof(Word))), 1);
  parallel_for(0, outer * row_tiles * column_tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t column = tile % column_tiles * kTile;
      const int64_t row = tile / column_tiles % row_tiles * kTile;
      int64_t rest = tile / (column_tiles * row_tiles);
      char* target = to + row * walk.to[across] + column * walk.to[0];
      const char* source = from + row * walk.from[across] + column * walk.from[0];
      for (int d = 1; d < walk.rank; ++d) {
        if (d == across) continue;
        target += rest % walk.extent[d] * walk.to[d];
        source += rest % walk.extent[d] * walk.from[d];
        rest /= walk.extent[d];
      }
      copy_tile<Word>(target, walk.to[across], source, walk.from[0], std::min(kTile, rows - row),
                      std::min(kTile, columns - column), convert);
    }
  });
}

/// Up to this length rows are copied without a call for each; dense ones up to so many bytes, and
/// those of one element again and again as far as threads can share them out.
constexpr int64_t kShortRow = 8, kShortRowBytes = 512, kFilledRowBytes = kCopyGrain / 4;

template <class Word>
void copy_short_rows(char* to, const char* from, const Walk& walk) {
  const Walk rows = walk.outer().with_longer_runs();
  const int64_t length = walk.extent[0];
  const int64_t to_step = walk.to[0], from_step = walk.from[0];
  const bool is_dense = to_step == sizeof(Word) && from_step == sizeof(Word);
  const int64_t grain = kCopyGrain / (length * static_cast<int64_t>(sizeof(Word)));
  parallel_for(0, rows.numel, grain, [&](int64_t begin, int64_t end) {
    rows.for_runs(begin, end, [&](int64_t to_offset, int64_t from_offset, int64_t count) {
      char* target = to + to_offset;
      const char* source = from + from_offset;
      for (int64_t row = 0; row < count; ++row, target += rows.to[0], source += rows.from[0]) {
        if (is_dense) {
          copy_row(reinterpret_cast<Word*>(target), reinterpret_cast<const Word*>(source), length);
          continue;
        }
        for (int64_t i = 0; i < length; ++i) {
          *reinterpret_cast<Word*>(target + i * to_step) =
              *reinterpret_cast<const Word*>(source + i * from_step);
        }
      }
    });
  });
}

/// Rows of one element each.
template <class Word>
void copy_filled_rows(char* to, const char* from, const Walk& walk) {
  const Walk rows = walk.outer();
  const int64_t length = walk.extent[0];
  const int64_t grain =
      std::max<int64_t>(1, kCopyGrain / (length * static_cast<int64_t>(sizeof(Word))));
  const auto fill = FLAMBEAU_PICK(fill_rows<Word>);
  parallel_for(0, rows.numel, grain, [&](int64_t begin, int64_t end) {
    rows.for_runs(begin, end, [&](int64_t to_offset, int64_t from_offset, int64_t count) {
      fill(to + to_offset, rows.to[0], from + from_offset, rows.from[0], count, length);
    });
  });
}

/// The dim to transpose with the innermost one; 0: none.
int transposed_dim(const Walk& walk, int64_t to_bytes, int64_t from_bytes) {
  if (walk.to[0] != to_bytes || walk.from[0] == from_bytes || walk.from[0] == 0 ||
      walk.extent[0] < 4)
    return 0;
  for (int d = 1; d < walk.rank; ++d)
    if (walk.from[d] == from_bytes && walk.extent[d] >= 4) return d;
  return 0;
}

void copy(const Tensor& destination, const Tensor& source) {
  char* to = destination.data<char>();
  const char* from = source.data<const char>();
  const auto to_bytes = static_cast<int64_t>(destination.itemsize());
  const auto from_bytes = static_cast<int64_t>(source.itemsize());
  const bool same_dtype = destination.dtype() == source.dtype();
  if (same_dtype && destination.is_contiguous() && source.is_contiguous())
    return copy_bytes(to, from, destination.numel() * to_bytes);
  ConvertFunction* convert =
      same_dtype ? nullptr : find_convert(destination.dtype(), source.dtype());
  Walk walk;
  walk.build(destination.sizes(), destination.strides(), to_bytes, &source.strides(), from_bytes);
  if (walk.rank == 1 && same_dtype && walk.to[0] == to_bytes && walk.from[0] == to_bytes)
    return copy_bytes(to, from, walk.numel * to_bytes);
  if (const int across = transposed_dim(walk, to_bytes, from_bytes)) {
    return with_size(from_bytes, [&](auto word) {
      using Word = decltype(word);
      const int64_t elements = walk.extent[0] * walk.extent[across];
      if (walk.rank > 2 && same_dtype && elements <= kTileSize<Word> * kTileSize<Word> / 8)
        return copy_small_transposed<Word>(to, from, walk, across);
      copy_transposed<Word>(to, from, walk, across, convert);
    });
  }
  constexpr int64_t kLeastOfGroup = 4;
  if (same_dtype && to_bytes <= 8 && walk.from[0] != 0) {
    if (const TurnedGroups groups = turned_groups(walk, to_bytes, kLeastOfGroup); groups.found)
      return with_size(
          to_bytes, [&](auto word) { copy_turned_groups<decltype(word)>(to, from, walk, groups); });
  }
  if (same_dtype && walk.rank > 1 && walk.to[0] == to_bytes && walk.from[0] == 0 &&
      walk.extent[0] <= kFilledRowBytes / to_bytes) {
    return with_size(to_bytes,
                     [&](auto word) { copy_filled_rows<decltype(word)>(to, from, walk); });
  }
  const bool has_dense_rows = walk.to[0] == to_bytes && walk.from[0] == from_bytes;
  const int64_t longest = has_dense_rows ? kShortRowBytes / to_bytes : kShortRow;
  if (same_dtype && walk.rank > 1 && walk.extent[0] <= longest) {
    return with_size(to_bytes, [&](auto word) { copy_short_rows<decltype(word)>(to, from, walk); });
  }
  const int64_t grain = kCopyGrain / std::max(to_bytes, from_bytes);
  const auto copy_range = [&](auto run) {
    parallel_for(0, walk.numel, grain, [&](int64_t begin, int64_t end) {
      walk.for_runs(begin, end, [&](int64_t to_offset, int64_t from_offset, int64_t count) {
        run(to + to_offset, walk.to[0], from + from_offset, walk.from[0], count, convert);
      });
    });
  };
  with_size(to_bytes, [&](auto to_word) {
    using ToWord = decltype(to_word);
    if (same_dtype) return copy_range(&copy_run<ToWord, ToWord>);
    with_size(from_bytes,
              [&](auto from_word) { copy_range(&copy_run<ToWord, decltype(from_word)>); });
  });
}

[[maybe_unused]] const bool registered = (register_copy(Backend::cpu, Backend::cpu, &copy), true);

}  // namespace
}  // namespace flambeau::cpu
