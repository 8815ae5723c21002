#include "core/copy.h"

#include <algorithm>
#include <cstring>

#include "cpu/convert.h"
#include "cpu/walk.h"

namespace flambeau::cpu {

namespace {

/// Bytes that are worth a thread.
constexpr int64_t kCopyGrain = int64_t{1} << 18;

void copy_bytes(char* to, const char* from, int64_t bytes) {
  parallel_for(0, bytes, kCopyGrain, [=](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

template <class Word>
void copy_strided(char* to, int64_t to_stride, const char* from, int64_t from_stride,
                  int64_t count) {
  if (to_stride == sizeof(Word) && from_stride == 0) {
    std::fill_n(reinterpret_cast<Word*>(to), count, *reinterpret_cast<const Word*>(from));
    return;
  }
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
constexpr int64_t kTile = 32;

template <class Word>
void copy_tile(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t rows,
               int64_t columns) {
  // Through a small dense square: reads and writes are both dense, the transposition happens in
  // the first-level cache. Row c of the square holds column c of the destination tile.
  Word square[kTile][kTile + 1];
  for (int64_t c = 0; c < columns; ++c)
    std::memcpy(square[c], from + c * from_stride, static_cast<size_t>(rows) * sizeof(Word));
  for (int64_t r = 0; r < rows; ++r) {
    Word* row = reinterpret_cast<Word*>(to + r * to_stride);
    for (int64_t c = 0; c < columns; ++c) row[c] = square[c][r];
  }
}

/// `across`: the dim that is dense in the source.
template <class Word>
void copy_transposed(char* to, const char* from, const Walk& walk, int across) {
  const int64_t columns = walk.extent[0], rows = walk.extent[across];
  const int64_t column_tiles = (columns + kTile - 1) / kTile,
                row_tiles = (rows + kTile - 1) / kTile;
  const int64_t outer = walk.numel / (columns * rows);
  const int64_t grain = std::max<int64_t>(kCopyGrain / (kTile * kTile * sizeof(Word)), 1);
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
                      std::min(kTile, columns - column));
    }
  });
}

/// The dim to transpose with the innermost one; 0: none.
int transposed_dim(const Walk& walk, int64_t bytes) {
  if (walk.to[0] != bytes || walk.from[0] == bytes || walk.from[0] == 0 || walk.extent[0] < 4)
    return 0;
  for (int d = 1; d < walk.rank; ++d)
    if (walk.from[d] == bytes && walk.extent[d] >= 4) return d;
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
  const int across = same_dtype ? transposed_dim(walk, to_bytes) : 0;
  with_size(to_bytes, [&](auto to_word) {
    using ToWord = decltype(to_word);
    if (across > 0) return copy_transposed<ToWord>(to, from, walk, across);
    with_size(from_bytes, [&](auto from_word) {
      using FromWord = decltype(from_word);
      const int64_t grain = kCopyGrain / std::max(to_bytes, from_bytes);
      parallel_for(0, walk.numel, grain, [&](int64_t begin, int64_t end) {
        walk.for_runs(begin, end, [&](int64_t to_offset, int64_t from_offset, int64_t count) {
          copy_run<ToWord, FromWord>(to + to_offset, walk.to[0], from + from_offset, walk.from[0],
                                     count, convert);
        });
      });
    });
  });
}

[[maybe_unused]] const bool registered = (register_copy(Backend::cpu, Backend::cpu, &copy), true);

}  // namespace
}  // namespace flambeau::cpu
