#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/linalg/strided_lines.h"
#include "cpu/linalg/tile.h"
#include "cpu/nn/conv_kernel.h"

// Patches of images, copied to panels that tiles read in order. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Reads `count` neighbours into the lanes from `first` on; all other lanes are 0. `source` is
/// where lane 0 would be.
template <class T>
struct PatchReader {
  static constexpr int64_t kSteps = 1;
  Mask<T> mask;
  explicit PatchReader(int64_t count = kLanes<T>, int64_t first = 0) : mask(count, first) {}
  Vector<T> read(const T* source, const int64_t* offsets, bool) const {
    return mask.load(source + *offsets);
  }
};

#ifdef FLAMBEAU_BFLOAT16_PRODUCTS
/// Pairs of elements of two steps; the second is 0 where there is none.
template <>
struct PatchReader<bfloat16> {
  static constexpr int64_t kSteps = 2;
  __mmask16 mask;
  explicit PatchReader(int64_t count = kLanes<float>, int64_t first = 0)
      : mask(static_cast<__mmask16>(((1u << count) - 1) << first)) {}
  Vector<Bfloat16Pair> read(const bfloat16* source, const int64_t* offsets, bool is_pair) const {
    return pair_rows(load_halves(mask, source + offsets[0]),
                     is_pair ? load_halves(mask, source + offsets[1]) : HalfVector{});
  }
};
#endif

/// The columns of one panel, cut where positions do not follow each other in the source and where
/// vectors end.
template <class T>
class PatchColumns {
 public:
  using Packed = ConvPacked<T>;
  static constexpr int64_t kLine = kLanes<Packed>, kWidth = kTileColumns<Packed>;

  /// The next `count` positions of `run`, of whose first `done` are behind.
  PatchColumns(const ConvRun*& run, int64_t& done, int64_t count) {
    int64_t pieces = 0;
    is_run_ = count == kWidth && run->count - done >= kWidth;
    for (int64_t column = 0; column < count;) {
      const int64_t lane = column % kLine;
      const int64_t length = std::min({kLine - lane, count - column, run->count - done});
      // What lies before the end of a cache line is near where the columns before these were read.
      const int64_t end = run->place + done + length - 1;
      const bool is_near = column > 0 && done > 0 && end - asks_[asked_ - 1] < kCacheLine;
      asks_[is_near ? asked_ - 1 : asked_++] = end;
      pieces_[pieces++] = {run->place + done - lane, PatchReader<T>(length, lane)};
      column += length;
      ends_[(column - 1) / kLine] = pieces;
      done += length;
      if (done < run->count) continue;
      ++run;
      done = 0;
    }
    for (int64_t v = (count + kLine - 1) / kLine; v < kTileVectors; ++v) ends_[v] = pieces;
  }

  /// packed[step * kWidth + column]; columns behind the last are 0.
  void pack(const T* source, const int64_t* offsets, int64_t depth, Packed* packed) const {
    if constexpr (kSteps == 1)
      if (is_run_) return pack_run(source + pieces_[0].place, offsets, depth, packed);
    const int64_t first = ends_[0], second = ends_[1] - ends_[0];
    if (first > kMost || second > kMost) return pack_pieces(source, offsets, depth, packed);
    constexpr auto table = unrolled(std::make_integer_sequence<int, kMost*(kMost + 1)>());
    const int64_t index = (first - 1) * (kMost + 1) + second;
    (this->*table[static_cast<size_t>(index)])(source, offsets, depth, packed);
  }

  /// Asks for what `pack` would read, to be near when it does.
  void prefetch(const T* source, const int64_t* offsets, int64_t depth) const {
    for (int64_t i = 0; i < asked_; ++i)
      for (int64_t p = 0; p < depth; ++p) __builtin_prefetch(source + asks_[i] + offsets[p], 0, 2);
  }

 private:
  static_assert(kTileVectors == 2);
  static constexpr int64_t kCacheLine = 64 / static_cast<int64_t>(sizeof(T));
  static constexpr int kMost = 3;  // pieces of a vector whose masks stay in registers
  static constexpr int64_t kSteps = PatchReader<T>::kSteps;
  struct Piece {
    int64_t place;
    PatchReader<T> reader;
  };
  using Pack = void (PatchColumns::*)(const T*, const int64_t*, int64_t, Packed*) const;

  template <int... index>
  static constexpr std::array<Pack, sizeof...(index)> unrolled(
      std::integer_sequence<int, index...>) {
    return {&PatchColumns::pack_unrolled<index / (kMost + 1) + 1, index % (kMost + 1)>...};
  }

  template <int first, int second>
  void pack_unrolled(const T* source, const int64_t* offsets, int64_t depth, Packed* packed) const {
    Piece pieces[first + second];
    std::copy_n(pieces_, first + second, pieces);
    for (int64_t p = 0; p < depth; p += kSteps, packed += kWidth) {
      Vector<uint32_t> lines[2] = {};
#pragma GCC unroll 6
      for (int i = 0; i < first + second; ++i)
        lines[i >= first] |= (Vector<uint32_t>)pieces[i].reader.read(source + pieces[i].place,
                                                                     offsets + p, p + 1 < depth);
      store(packed, (Vector<Packed>)lines[0]);
      store(packed + kLine, (Vector<Packed>)lines[1]);
    }
  }

  /// Without masks, which are slower on some processors.
  static void pack_run(const T* source, const int64_t* offsets, int64_t depth, Packed* packed) {
    for (int64_t p = 0; p < depth; ++p, packed += kWidth)
      for (int64_t j = 0; j < kWidth; j += kLine) store(packed + j, load(source + offsets[p] + j));
  }

  void pack_pieces(const T* source, const int64_t* offsets, int64_t depth, Packed* packed) const {
    for (int64_t p = 0; p < depth; p += kSteps) {
      int64_t i = 0;
      for (const int64_t end : ends_) {
        Vector<uint32_t> line = {};
        for (; i < end; ++i)
          line |= (Vector<uint32_t>)pieces_[i].reader.read(source + pieces_[i].place, offsets + p,
                                                           p + 1 < depth);
        store(packed, (Vector<Packed>)line);
        packed += kLine;
      }
    }
  }

  Piece pieces_[kWidth];
  int64_t asks_[kWidth], asked_ = 0;  // places that are asked for
  bool is_run_;                 // whether the columns follow each other, a whole panel of them
  int64_t ends_[kTileVectors];  // of the pieces of each vector
};

}  // namespace flambeau::cpu::FLAMBEAU_ISA
