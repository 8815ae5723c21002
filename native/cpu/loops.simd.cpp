#include "cpu/loops.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cpu/direct_plan.h"
#include "cpu/elements.h"
#include "cpu/linalg/vector.h"
#include "cpu/random_fill.h"
#include "cpu/turned_tiles.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace detail {
namespace {

/// Elements of a chunk, and bytes of a buffer: a few operands fit the first-level cache.
constexpr int64_t kChunk = 1024;
constexpr int64_t kBufferBytes = 4096;
/// Rows at least this long are walked one at a time, so that dense rows need no buffer.
constexpr int64_t kLongRow = 256;
constexpr int64_t kLargeArea = 8 * kChunk;  // which the end of its last chunk does not slow down
/// Rows at least this long are worth a call each.
constexpr int64_t kShortestRow = 32;
/// Rows that may be shared out as wholes.
constexpr int64_t kManyRows = 64;
/// Elements of a short row that a buffer repeats: a longer buffer would lie, in its last bits of
/// address, where outputs lie, and reads of it would wait for their writes.
constexpr int64_t kRepeatedRow = 128;
/// Rows of a tile: two cache lines of 4-byte elements.
constexpr int64_t kTileRows = 32;
constexpr int kMaxData = Iterator::kMaxOperands + 4;
/// Elements of the widest vectors.
constexpr int64_t kVector = 16;
/// Elements that are not worth the set-up of a walk.
constexpr int64_t kSmall = 64;

enum class Access : uint8_t {
  dense,     // one dense run over all elements
  repeated,  // one element, everywhere
  cycle,     // one short row, again and again
  rows,      // anything else: dense in a row (used in place) or gathered
};

int64_t bytes_in_loop(const MapPlan& plan, int slot) {
  return slot < plan.operand_count ? plan.operands[slot].compute_bytes
                                   : draw_bytes(plan.draws[slot - plan.operand_count]);
}

/// Whether an output holds something that the formula reads, so that no element may be computed
/// twice.
bool writes_inputs(const MapPlan& plan, char* const* data, int64_t count) {
  for (int o = 0; o < plan.operand_count; ++o) {
    if (!plan.operands[o].written) continue;
    if (plan.operands[o].read) return true;
    const char* const end = data[o] + count * bytes_in_loop(plan, o);
    for (int i = 0; i < plan.operand_count; ++i)
      if (plan.operands[i].read && data[i] < end &&
          data[o] < data[i] + count * bytes_in_loop(plan, i))
        return true;
  }
  return false;
}

/// The last elements, fewer than a vector, padded with copies of the last one.
void run_padded(const MapPlan& plan, const void* formula, char* const* data, int64_t index,
                int64_t done, int64_t rest) {
  alignas(64) char pads[kMaxData][kVector * 16];
  char* padded[kMaxData];
  for (int i = 0; i < plan.operand_count + plan.draw_count; ++i) {
    padded[i] = pads[i];
    if (i < plan.operand_count && !plan.operands[i].read) continue;
    const int64_t bytes = bytes_in_loop(plan, i);
    char* end = pads[i] + rest * bytes;
    memcpy(pads[i], data[i] + done * bytes, static_cast<size_t>(rest * bytes));
    for (; end < pads[i] + kVector * bytes; ++end) *end = *(end - bytes);
  }
  plan.loop(formula, padded, index + done, kVector);
  for (int i = 0; i < plan.operand_count; ++i) {
    const int64_t bytes = bytes_in_loop(plan, i);
    if (plan.operands[i].written)
      memcpy(data[i] + done * bytes, pads[i], static_cast<size_t>(rest * bytes));
  }
}

/// Runs the loop on dense data. The scalar and the vector form of a function may differ in the last
/// place; so that a result does not depend on where its element stands, formulas that call
/// functions (`even`) only ever see whole vectors: the last one overlaps the one before.
void run_loop(const MapPlan& plan, const void* formula, bool even, char* const* data, int64_t index,
              int64_t count) {
  const int64_t rest = even ? count % kVector : 0;
  if (count > rest) plan.loop(formula, data, index, count - rest);
  if (rest == 0) return;
  if (count < kVector || writes_inputs(plan, data, count))
    return run_padded(plan, formula, data, index, count - rest, rest);
  char* last[kMaxData];
  for (int i = 0; i < plan.operand_count + plan.draw_count; ++i)
    last[i] = data[i] + (count - kVector) * bytes_in_loop(plan, i);
  plan.loop(formula, last, index + count - kVector, kVector);
}

/// A few elements, each operand dense or one number: what a Walk would do, without its set-up.
bool run_small(const Iterator& iter, const MapPlan& plan, const void* formula, bool even) {
  const int64_t numel = iter.numel();
  if (numel > kSmall || iter.rank() > 1 || plan.draw_count > 0) return false;
  alignas(64) char repeated[kMaxData][kSmall * 16];
  char* data[kMaxData];
  for (int i = 0; i < plan.operand_count; ++i) {
    const OperandKind& kind = plan.operands[i];
    if (kind.conversion != Conversion::none) return false;
    data[i] = iter.data(i);
    if (numel == 1 || iter.byte_stride(i, 0) == kind.bytes) continue;
    if (iter.byte_stride(i, 0) != 0 || kind.written) return false;
    load_run(repeated[i], data[i], 0, numel, kind);
    data[i] = repeated[i];
  }
  run_loop(plan, formula, even, data, 0, numel);
  return true;
}

/// Everything about one call that threads share.
class Walk {
 public:
  Walk(const Iterator& iter, const MapPlan& plan, const void* formula, int64_t cost,
       const RandomStream& stream)
      : plan_(plan), formula_(formula), stream_(stream), even_(cost >= kFunctionCost) {
    start_.rank = iter.rank();
    for (int d = 0; d < start_.rank; ++d) start_.extent[d] = iter.extent(d);
    while (outputs_ < plan.operand_count && plan.operands[outputs_].written) ++outputs_;
    int64_t widest = 1;
    for (int i = 0; i < plan.operand_count; ++i) {
      base_[i] = iter.data(i);
      for (int d = 0; d < start_.rank; ++d) strides_[i][d] = iter.byte_stride(i, d);
      if (i >= outputs_ && plan_.operands[i].conversion != Conversion::none) convert_repeated(i);
      access_[i] = classify(i);
      widest = std::max<int64_t>(widest, plan_.operands[i].compute_bytes);
    }
    for (int d = 0; d < plan.draw_count; ++d)
      widest = std::max<int64_t>(widest, draw_bytes(plan.draws[d]));
    chunk_ = std::min(kChunk, kBufferBytes / widest);
    tile_ = chunk_;
    has_long_rows_ = start_.rank > 0 && start_.extent[0] >= kLongRow;
    if (has_long_rows_) chunk_ = part_of_row(chunk_);
    // Chunks of whole rows begin at one place of a cycle, whose buffer serves all of them.
    carries_on_ = plan.draw_count == 0;
    bool has_cycles = false;
    for (int i = 0; i < plan.operand_count; ++i) {
      const bool in_place =
          access_[i] == Access::dense && plan_.operands[i].conversion == Conversion::none;
      carries_on_ &= in_place || access_[i] == Access::cycle || access_[i] == Access::repeated;
      if (access_[i] != Access::cycle) continue;
      has_cycles = true;
      in_areas_ |= cycles_in_areas(i);
    }
    if (has_cycles) {
      if (carries_on_) chunk_ = std::max(std::min(chunk_, kRepeatedRow), start_.extent[0]);
      chunk_ = chunk_ / start_.extent[0] * start_.extent[0];
    }
    if (!plan.indexed && plan.draw_count == 0 && start_.rank >= 2 && start_.extent[0] >= 32 &&
        start_.extent[1] >= kTileRows / 2) {
      for (int i = 0; i < plan.operand_count; ++i) has_tiles_ |= is_transposed(i);
    }
    has_plain_rows_ = has_long_rows_ && are_plain();
    repeated_ = find_repeated();
  }

  /// Rows along which some inputs are single elements, for which there is a loop.
  bool has_repeating_rows() const { return repeated_ > 0 && start_.rank > 1; }
  void run_repeating_rows(int64_t begin, int64_t end) const {
    const int64_t length = row_length();
    Position position = start_;
    position.seek(begin * length);
    while (begin < end) {
      const int64_t rows = std::min(end - begin, start_.extent[1] - position.index[1]);
      char* data[kMaxData];
      for (int i = 0; i < plan_.operand_count; ++i)
        data[i] = base_[i] + position.offset(strides_[i]);
      for (int64_t row = 0; row < rows; ++row) {
        run_repeating(data, length);
        for (int i = 0; i < plan_.operand_count; ++i) data[i] += strides_[i][1];
      }
      begin += rows;
      position.advance(rows * length);
    }
  }

  /// Some operand lies across the others: worked on in tiles, which read whole cache lines of both.
  bool has_tiles() const { return has_tiles_; }
  int64_t tile_columns() const { return tile_ / kTileRows; }
  int64_t tile_count() const {
    const int64_t area = start_.extent[0] * start_.extent[1];
    return tiles_across() * tiles_down() * (numel() / area);
  }
  int64_t numel() const {
    int64_t count = 1;
    for (int d = 0; d < start_.rank; ++d) count *= start_.extent[d];
    return count;
  }

  /// Long rows that need no buffer but for what is repeated along them.
  bool has_plain_rows() const { return has_plain_rows_; }
  int64_t row_length() const { return start_.extent[0]; }
  void run_rows(int64_t begin, int64_t end) const {
    alignas(64) char buffers[kMaxData][kBufferBytes];
    const char* repeated[kMaxData] = {};
    char *next[kMaxData], *data[kMaxData];
    const int64_t length = row_length();
    Position position = start_;
    position.seek(begin * length);
    while (begin < end) {
      const int64_t rows = std::min(end - begin, start_.extent[1] - position.index[1]);
      for (int i = 0; i < plan_.operand_count; ++i)
        next[i] = base_[i] + position.offset(strides_[i]);
      for (const int64_t last = begin + rows; begin < last; ++begin) {
        for (int i = 0; i < plan_.operand_count; ++i) {
          data[i] = next[i];
          next[i] += strides_[i][1];
          if (strides_[i][0] != 0) continue;
          if (repeated[i] != data[i]) load_run(buffers[i], data[i], 0, chunk_, plan_.operands[i]);
          repeated[i] = data[i];
          data[i] = buffers[i];
        }
        int64_t count = even_ ? chunk_ : before_vector(data[0], plan_.operands[0].bytes);
        for (int64_t at = 0; at < length; at += count, count = chunk_) {
          count = std::min(count, length - at);
          call(data, begin * length + at, count);
          for (int i = 0; i < plan_.operand_count; ++i) data[i] += count * strides_[i][0];
        }
      }
      position.advance(rows * length);
    }
  }

  bool is_dense() const {
    if (repeated_ > 0) return start_.rank == 1;
    for (int i = 0; i < plan_.operand_count; ++i)
      if (access_[i] != Access::dense || plan_.operands[i].conversion != Conversion::none)
        return false;
    return plan_.draw_count == 0;
  }

  void run_dense(int64_t begin, int64_t end) const {
    if (repeated_ > 0 && even_ && end - begin < kVector) return run_chunks(begin, end);
    char* data[kMaxData];
    for (int i = 0; i < plan_.operand_count; ++i)
      data[i] = base_[i] + (repeats(i) ? 0 : begin * plan_.operands[i].bytes);
    repeated_ > 0 ? run_repeating(data, end - begin) : call(data, begin, end - begin);
  }

  void run_chunks(int64_t begin, int64_t end) const {
    alignas(64) char buffers[kMaxData][kBufferBytes + kDrawSlack];
    const char* repeated[kMaxData] = {};  // what a buffer is filled with
    int64_t repeats[kMaxData] = {};
    char* data[kMaxData];
    Position position = start_;
    position.seek(begin);
    while (begin < end) {
      int64_t count = std::min(chunk_, end - begin);
      const int64_t row = position.row_left();
      if (has_long_rows_) count = std::min(count, row);
      if (in_areas_) count = std::min(count, area_left(position));
      const bool one_row = count <= row;
      bool buffered[kMaxData];
      for (int i = 0; i < plan_.operand_count; ++i) {
        const OperandKind& kind = plan_.operands[i];
        const bool plain = kind.conversion == Conversion::none;
        buffered[i] = true;
        data[i] = buffers[i];
        if (access_[i] == Access::dense) {
          char* place = base_[i] + begin * kind.bytes;
          if (plain) {
            data[i] = place;
            buffered[i] = false;
          } else if (kind.read) {
            load_run(buffers[i], place, kind.bytes, count, kind);
          }
        } else if (one_row) {
          const int64_t stride = start_.rank > 0 ? strides_[i][0] : 0;
          char* place = base_[i] + position.offset(strides_[i]);
          if (plain && stride == kind.bytes) {
            data[i] = place;
            buffered[i] = false;
          } else if (kind.read && !(stride == 0 && repeated[i] == place && repeats[i] >= count)) {
            load_run(buffers[i], place, stride, count, kind);
            repeated[i] = stride == 0 && !kind.written ? place : nullptr;
            repeats[i] = count;
          }
        } else if (access_[i] == Access::cycle) {
          const char* const place = base_[i] + position.offset(strides_[i]);
          if (repeated[i] != place || repeats[i] < count) {
            gather(buffers[i], base_[i], position, strides_[i], count, kind);
            repeated[i] = place;
            repeats[i] = count;
          }
        } else if (access_[i] == Access::repeated) {
          if (repeated[i] != base_[i] || repeats[i] < count) {
            load_run(buffers[i], base_[i], 0, count, kind);
            repeated[i] = base_[i];
            repeats[i] = count;
          }
        } else if (kind.read) {
          gather(buffers[i], base_[i], position, strides_[i], count, kind);
          repeated[i] = nullptr;
        }
      }
      for (int d = 0; d < plan_.draw_count; ++d) {
        const int slot = plan_.operand_count + d;
        data[slot] = fill_draw(buffers[slot], plan_.draws[d], stream_, static_cast<uint32_t>(d),
                               begin, count);
      }
      const int64_t chunks = carries_on_ ? chunks_alike(position, count, end - begin) : 1;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        call(data, begin + chunk * count, count);
        for (int i = 0; i < plan_.operand_count; ++i)
          if (access_[i] == Access::dense) data[i] += count * plan_.operands[i].bytes;
      }
      for (int i = 0; i < plan_.operand_count; ++i) {
        if (plan_.operands[i].written && buffered[i]) store(i, buffers[i], position, begin, count);
      }
      begin += chunks * count;
      position.advance(chunks * count);
    }
  }

  void run_tiles(int64_t begin, int64_t end) const {
    alignas(64) char buffers[kMaxData][kBufferBytes];
    char* data[kMaxData];
    const int64_t across = tiles_across(), down = tiles_down();
    const int64_t area = start_.extent[0] * start_.extent[1];
    for (int64_t tile = begin; tile < end; ++tile) {
      Position position = start_;
      position.seek(tile / (across * down) * area);
      position.index[0] = tile % across * tile_columns();
      position.index[1] = tile / across % down * kTileRows;
      const int64_t columns = std::min(tile_columns(), start_.extent[0] - position.index[0]);
      const int64_t rows = std::min(kTileRows, start_.extent[1] - position.index[1]);
      for (int i = 0; i < plan_.operand_count; ++i) {
        const OperandKind& kind = plan_.operands[i];
        data[i] = buffers[i];
        if (!kind.read) continue;
        const char* place = base_[i] + position.offset(strides_[i]);
        if (is_transposed(i)) {
          gather_tile(buffers[i], place, strides_[i], columns, rows, kind);
        } else {
          for (int64_t r = 0; r < rows; ++r)
            load_run(buffers[i] + r * columns * kind.compute_bytes, place + r * strides_[i][1],
                     strides_[i][0], columns, kind);
        }
      }
      call(data, 0, columns * rows);
      for (int i = 0; i < plan_.operand_count; ++i) {
        const OperandKind& kind = plan_.operands[i];
        if (!kind.written) continue;
        char* place = base_[i] + position.offset(strides_[i]);
        if (is_transposed(i)) {
          scatter_tile(place, buffers[i], strides_[i], columns, rows, kind);
          continue;
        }
        for (int64_t r = 0; r < rows; ++r)
          store_run(place + r * strides_[i][1], strides_[i][0],
                    buffers[i] + r * columns * kind.compute_bytes, columns, kind);
      }
    }
  }

 private:
  /// The elements of a long row that are worked on at once: all where no operand needs a buffer,
  /// else equal parts, so that what is repeated along the row fills a buffer once for all of them.
  int64_t part_of_row(int64_t most) const {
    const int64_t length = start_.extent[0];
    bool needs_buffer = plan_.draw_count > 0;
    for (int i = 0; i < plan_.operand_count; ++i) {
      const OperandKind& kind = plan_.operands[i];
      needs_buffer |= kind.conversion != Conversion::none || strides_[i][0] != kind.bytes;
    }
    if (!needs_buffer) return length;
    const int64_t parts = (length + most - 1) / most;
    return std::min(most, ((length + parts - 1) / parts + kVector - 1) / kVector * kVector);
  }

  /// Elements of the two innermost dims from a position on.
  int64_t area_left(const Position& position) const {
    return position.row_left() + (start_.extent[1] - 1 - position.index[1]) * start_.extent[0];
  }
  /// How many chunks from a position on, of at most `left` elements, read the same buffers.
  int64_t chunks_alike(const Position& position, int64_t count, int64_t left) const {
    if (count % start_.extent[0] != 0) return 1;
    return (in_areas_ ? std::min(left, area_left(position)) : left) / count;
  }

  /// Elements until a place where vectors written one after the other do not cross cache lines, or
  /// a chunk where `data` is one.
  int64_t before_vector(const char* data, int64_t bytes) const {
    const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % kVectorBytes);
    return past == 0 || past % bytes != 0 ? chunk_ : (kVectorBytes - past) / bytes;
  }

  bool are_plain() const {
    bool all = plan_.draw_count == 0;
    for (int i = 0; i < plan_.operand_count; ++i) {
      const OperandKind& kind = plan_.operands[i];
      const bool repeats = strides_[i][0] == 0 && !kind.written;
      all &= kind.conversion == Conversion::none && (repeats || strides_[i][0] == kind.bytes);
    }
    return all;
  }

  /// The lowest or, of `upper` 1, the last byte of an operand.
  const char* bound(int operand, int upper) const {
    const char* place = base_[operand] + upper * (plan_.operands[operand].bytes - 1);
    for (int d = 0; d < start_.rank; ++d)
      if ((strides_[operand][d] > 0) == (upper > 0))
        place += (start_.extent[d] - 1) * strides_[operand][d];
    return place;
  }
  bool may_overlap(int a, int b) const {
    return bound(a, 0) <= bound(b, 1) && bound(b, 0) <= bound(a, 1);
  }

  /// The inputs that repeat along rows for which there is a loop, a bit of each; 0: none.
  /// Of a half type, a few elements that are read often are converted once.
  void convert_repeated(int operand) {
    constexpr int64_t kOften = 8, kMost = 16384;
    Position position = start_;
    int64_t count = 1;
    for (int d = 0; d < start_.rank; ++d) {
      if (strides_[operand][d] == 0) position.extent[d] = 1;
      count *= position.extent[d];
    }
    if (count > kMost || count * kOften > numel()) return;
    if (converted_.empty()) {
      std::copy_n(plan_.operands, plan_.operand_count, kinds_);
      plan_.operands = kinds_;
    }
    OperandKind& kind = kinds_[operand];
    converted_.emplace_back(static_cast<size_t>(count));
    char* const buffer = reinterpret_cast<char*>(converted_.back().data());
    position.seek(0);
    for (int64_t at = 0, length; at < count; at += length, position.advance(length)) {
      length = std::min(count - at, kMostConverted);
      gather(buffer + at * kind.compute_bytes, base_[operand], position, strides_[operand], length,
             kind);
    }
    base_[operand] = buffer;
    int64_t step = kind.compute_bytes;
    for (int d = 0; d < start_.rank; ++d) {
      if (strides_[operand][d] == 0) continue;
      strides_[operand][d] = step;
      step *= start_.extent[d];
    }
    kind.bytes = kind.compute_bytes;
    kind.conversion = Conversion::none;
  }

  unsigned find_repeated() const {
    if (start_.rank == 0 || start_.extent[0] < kShortestRow || !are_plain()) return 0;
    unsigned found = 0;
    for (int i = outputs_; i < plan_.operand_count; ++i)
      found |= strides_[i][0] == 0 ? 1u << (i - outputs_) : 0u;
    if (!plan_.repeating || found >= kRepeatingLoops || !plan_.repeating[found]) return 0;
    // Formulas that see whole vectors compute some elements twice.
    for (int o = 0; even_ && o < outputs_; ++o)
      for (int i = outputs_; i < plan_.operand_count; ++i)
        if (may_overlap(o, i)) return 0;
    return found;
  }
  bool repeats(int operand) const {
    const int input = operand - outputs_;
    return input >= 0 && repeated_ > 0 && (repeated_ >> input & 1) != 0;
  }

  void run_repeating(char* const* data, int64_t count) const {
    const DenseLoop loop = plan_.repeating[repeated_];
    const int64_t rest = even_ ? count % kVector : 0;
    loop(formula_, data, 0, count - rest);
    if (rest == 0) return;
    char* last[kMaxData];
    for (int i = 0; i < plan_.operand_count; ++i)
      last[i] = data[i] + (count - kVector) * strides_[i][0];
    loop(formula_, last, 0, kVector);
  }

  bool is_transposed(int operand) const {
    return std::abs(strides_[operand][0]) >= 64 && strides_[operand][1] != 0 &&
           std::abs(strides_[operand][1]) <= 16;
  }
  int64_t tiles_across() const { return (start_.extent[0] - 1) / tile_columns() + 1; }
  int64_t tiles_down() const { return (start_.extent[1] - 1) / kTileRows + 1; }

  /// Whether an operand is one row again and again for many chunks, but not for all of them.
  bool cycles_in_areas(int operand) const {
    const int64_t* const strides = strides_[operand];
    return !plan_.operands[operand].written && start_.rank > 2 && strides[0] != 0 &&
           strides[1] == 0 && start_.extent[0] * start_.extent[1] >= kLargeArea;
  }

  Access classify(int operand) const {
    int64_t dense = plan_.operands[operand].bytes;
    bool is_dense = true, repeats = !plan_.operands[operand].written;
    for (int d = 0; d < start_.rank; ++d) {
      is_dense &= strides_[operand][d] == dense;
      repeats &= d == 0 || strides_[operand][d] == 0;
      dense *= start_.extent[d];
    }
    // A single element is dense, whatever its strides.
    if (is_dense) return Access::dense;
    if (repeats && strides_[operand][0] == 0) return Access::repeated;
    return (repeats || cycles_in_areas(operand)) && start_.extent[0] < kLongRow ? Access::cycle
                                                                                : Access::rows;
  }

  void store(int operand, const char* buffer, const Position& position, int64_t begin,
             int64_t count) const {
    const OperandKind& kind = plan_.operands[operand];
    if (access_[operand] == Access::dense)
      return store_run(base_[operand] + begin * kind.bytes, kind.bytes, buffer, count, kind);
    if (count <= position.row_left()) {
      const int64_t stride = start_.rank > 0 ? strides_[operand][0] : 0;
      return store_run(base_[operand] + position.offset(strides_[operand]), stride, buffer, count,
                       kind);
    }
    scatter(base_[operand], position, strides_[operand], buffer, count, kind);
  }

  void call(char* const* data, int64_t index, int64_t count) const {
    run_loop(plan_, formula_, even_, data, index, count);
  }

  MapPlan plan_;
  const void* formula_;
  const RandomStream& stream_;
  bool even_;
  OperandKind kinds_[kMaxData];                // where some are not as the plan says
  std::vector<std::vector<float>> converted_;  // inputs that are repeated
  Position start_;
  char* base_[kMaxData];
  int64_t strides_[Iterator::kMaxOperands][Position::kMaxRank];
  Access access_[kMaxData];
  int64_t chunk_, tile_;
  unsigned repeated_;
  int outputs_ = 0;  // which come first
  bool has_long_rows_, has_tiles_ = false, has_plain_rows_ = false;
  bool in_areas_ = false;  // chunks end where the two innermost dims do
  bool carries_on_;        // what a buffer holds serves the next chunk too, all else is in place
};

}  // namespace

FLAMBEAU_API void run_map(const Iterator& iter, const MapPlan& plan, const void* formula,
                          int64_t cost, const RandomStream& stream) {
  const int64_t numel = iter.numel();
  if (numel == 0) return;
  check(iter.operand_count() == plan.operand_count && plan.draw_count <= 4, ErrorKind::runtime,
        iter.op(), ": the kernel was compiled for ", plan.operand_count, " operands, got ",
        iter.operand_count());
  if (FLAMBEAU_UNLIKELY(reads_bfloat16(plan)))
    return run_map(iter, DirectPlan(plan).get(), formula, cost, stream);
  if (run_small(iter, plan, formula, cost >= kFunctionCost)) return;
  const Walk walk(iter, plan, formula, cost, stream);
  const int64_t worth = cheap_elements(cost);
  if (walk.has_tiles()) {
    const int64_t work = walk.tile_columns() * kTileRows * worth;
    return parallel_for(0, walk.tile_count(), std::max<int64_t>(1, kGrain / work),
                        [&](int64_t begin, int64_t end) { walk.run_tiles(begin, end); });
  }
  if (walk.has_repeating_rows()) {
    const int64_t length = walk.row_length(), rows = numel / length;
    if (rows >= kManyRows || numel * worth <= kGrain || in_parallel_region())
      return parallel_for(0, rows, std::max<int64_t>(1, kGrain / (length * worth)),
                          [&](int64_t begin, int64_t end) { walk.run_repeating_rows(begin, end); });
  }
  const bool dense = walk.is_dense();
  const int64_t rows = walk.has_plain_rows() ? numel / walk.row_length() : 0;
  if (!dense && rows >= kManyRows) {
    const int64_t work = walk.row_length() * worth;
    return parallel_for(0, rows, std::max<int64_t>(1, kGrain / work),
                        [&](int64_t begin, int64_t end) { walk.run_rows(begin, end); });
  }
  if (numel * worth <= kGrain) return dense ? walk.run_dense(0, numel) : walk.run_chunks(0, numel);
  // Threads take whole chunks.
  parallel_for(0, (numel + kChunk - 1) / kChunk, std::max<int64_t>(1, kGrain / (worth * kChunk)),
               [&](int64_t begin, int64_t end) {
                 begin *= kChunk;
                 end = std::min(end * kChunk, numel);
                 dense ? walk.run_dense(begin, end) : walk.run_chunks(begin, end);
               });
}

}  // namespace detail

}  // namespace flambeau::cpu::FLAMBEAU_ISA
