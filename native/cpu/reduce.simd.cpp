#include "cpu/reduce.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include "cpu/elements.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace detail {
namespace {

/// The most elements that one call of FoldLoops::rows takes: its two levels of accumulators are
/// then about 64 steps each.
constexpr int64_t kSplit = int64_t{1} << 18;
/// Where threads share out one output: tasks while these have no more elements than that, and the
/// fewest elements of one.
constexpr int64_t kFewPieces = 4, kPiece = int64_t{1} << 15;
/// With at least this many outputs, threads share outputs only.
constexpr int64_t kManyOutputs = 64;
constexpr int64_t kGathered = kMostConverted;
constexpr int64_t kLongRow = 256;
/// Shorter rows are folded so many at a time.
constexpr int64_t kTogether = 64;
/// Bytes of one level of column accumulators, and the rows that enter a level before it is emptied
/// into the next.
constexpr int64_t kLevelBytes = 8192;
constexpr int64_t kLevelRows = 64;
/// Rows of at most this many elements are folded next to each other, like columns.
constexpr int64_t kShortRow = 24;
/// Threads that share rows of columns, as those who wrote them did, do not wait for each other's
/// lines of cache: the fewest rows of two pieces and of one of more, the fewest elements, and the
/// most pieces.
constexpr int64_t kRowsOfTwo = 16, kRowsOfMore = 64, kPieceElements = 8192, kMostPieces = 16;
/// Columns of at most this many rows meet in registers.
constexpr int64_t kFewRows = 8;
constexpr int64_t kFinished = 256;
constexpr int64_t kAccumulatorBytes = 64;
/// Accumulators of outputs that are stored at once.
constexpr int64_t kBatchBytes = std::max(kFinished * kAccumulatorBytes, kLevelBytes);

/// One accumulator.
struct Slot {
  alignas(16) char bytes[kAccumulatorBytes];
};

/// Meets partial results in pairs of equal weight, so that rounding errors grow with the logarithm
/// of their number.
class PairwiseStack {
 public:
  PairwiseStack(const FoldLoops& loops, const void* fold) : loops_(loops), fold_(fold) {}
  void push(const Slot& partial) {
    slots_[depth_++] = partial;
    ++count_;
    for (int64_t pairs = count_; pairs % 2 == 0; pairs /= 2) merge_top();
  }
  void result(void* accumulator) {
    if (depth_ == 0) return loops_.init(fold_, accumulator, 1);
    while (depth_ > 1) merge_top();
    memcpy(accumulator, slots_[0].bytes, static_cast<size_t>(loops_.accumulator_bytes));
  }

 private:
  void merge_top() {
    --depth_;
    loops_.combine(fold_, slots_[depth_ - 1].bytes, slots_[depth_].bytes, 1);
  }
  const FoldLoops& loops_;
  const void* fold_;
  Slot slots_[64];
  int depth_ = 0;
  int64_t count_ = 0;
};

class Walk {
 public:
  Walk(const Reduction& reduction, const FoldLoops& loops, const void* fold, int64_t cost)
      : loops_(loops),
        fold_(fold),
        input_(reduction.input_data()),
        count_(reduction.count()),
        outputs_(reduction.output_numel()),
        cost_(cheap_elements(cost)) {
    kept_.rank = reduction.kept_rank();
    for (int d = 0; d < kept_.rank; ++d) {
      kept_.extent[d] = reduction.kept_extent(d);
      kept_strides_[d] = reduction.input_kept_stride(d);
      for (int i = 0; i < loops.output_count; ++i)
        output_strides_[i][d] = reduction.output_stride(i, d);
    }
    reduced_.rank = reduction.reduced_rank();
    for (int d = 0; d < reduced_.rank; ++d) {
      reduced_.extent[d] = reduction.reduced_extent(d);
      reduced_strides_[d] = reduction.reduced_stride(d);
    }
    for (int i = 0; i < loops.output_count; ++i) results_[i] = reduction.output_data(i);
  }

  void run() const {
    const int64_t bytes = loops_.input.bytes;
    const bool plain = loops_.input.conversion == Conversion::none;
    const bool short_rows = reduced_.rank == 1 && count_ <= kShortRow && plain && kept_.rank > 0 &&
                            kept_.extent[0] >= 16 && kept_strides_[0] % bytes == 0 &&
                            reduced_strides_[0] % bytes == 0;
    const bool columns = kept_.rank > 0 && reduced_.rank > 0 && kept_.extent[0] > 1 &&
                         kept_strides_[0] == bytes && std::abs(reduced_strides_[0]) > bytes &&
                         reduced_strides_[0] % bytes == 0;
    if (count_ == 0 || !(short_rows || columns)) return run_rows();
    if (columns && reduced_.rank == 1 && count_ <= kFewRows) return run_registers();
    const int64_t pieces = columns ? column_pieces() : 1;
    if (pieces > 1) return run_split_columns(pieces);
    if (plain && count_ <= kLevelRows) return run_few_rows();
    run_columns();
  }

 private:
  // --- one output at a time ---

  /// Reduced elements [begin, end) of the output element whose input begins at `data`.
  void fold_range(const char* data, int64_t begin, int64_t end, void* accumulator) const {
    if (begin == end) return loops_.init(fold_, accumulator, 1);
    const bool dense_rows = loops_.input.conversion == Conversion::none && reduced_.rank > 0 &&
                            reduced_strides_[0] == loops_.input.bytes;
    if (dense_rows && reduced_.rank == 1 && end - begin <= kSplit)
      return loops_.rows(fold_, accumulator, data + begin * loops_.input.bytes, end - begin, 1, 0);
    if (dense_rows && has_short_rows() && begin % row_length() == 0 && end % row_length() == 0)
      return fold_short_rows(data, begin / row_length(), end / row_length(), accumulator);
    PairwiseStack partials(loops_, fold_);
    alignas(64) char buffer[kGathered * 16];
    Position position = reduced_;
    position.seek(begin);
    while (begin < end) {
      const int64_t row = position.row_left();
      int64_t piece;
      Slot partial;
      if (dense_rows && row >= kLongRow) {
        piece = std::min({row, end - begin, kSplit});
        loops_.rows(fold_, partial.bytes, data + position.offset(reduced_strides_), piece, 1, 0);
      } else {
        piece = std::min(kGathered, end - begin);
        if (piece <= row) {
          load_run(buffer, data + position.offset(reduced_strides_),
                   reduced_.rank > 0 ? reduced_strides_[0] : 0, piece, loops_.input);
        } else {
          gather(buffer, data, position, reduced_strides_, piece, loops_.input);
        }
        loops_.rows(fold_, partial.bytes, buffer, piece, 1, 0);
      }
      partials.push(partial);
      begin += piece;
      position.advance(piece);
    }
    partials.result(accumulator);
  }

  int64_t row_length() const { return reduced_.extent[0]; }
  bool has_short_rows() const {
    return reduced_.rank == 2 && row_length() > kShortRow && row_length() < kLongRow;
  }

  /// Dense rows [begin, end) of a reduced range of two dims.
  void fold_short_rows(const char* data, int64_t begin, int64_t end, void* accumulator) const {
    const int64_t bytes = loops_.accumulator_bytes;
    alignas(64) char sums[kTogether * kAccumulatorBytes];
    PairwiseStack partials(loops_, fold_);
    for (int64_t row = begin; row < end; row += kTogether) {
      const int64_t rows = std::min(kTogether, end - row);
      loops_.rows(fold_, sums, data + row * reduced_strides_[1], row_length(), rows,
                  reduced_strides_[1]);
      for (int64_t left = rows; left > 1; left -= left / 2)
        loops_.combine(fold_, sums, sums + (left - left / 2) * bytes, left / 2);
      Slot partial;
      memcpy(partial.bytes, sums, static_cast<size_t>(bytes));
      partials.push(partial);
    }
    partials.result(accumulator);
  }

  void run_rows() const {
    const int64_t pieces =
        std::max((count_ + kSplit - 1) / kSplit, std::min(kFewPieces, count_ / kPiece));
    if (pieces > 1 && outputs_ < kManyOutputs) return run_split_rows(pieces);
    const int64_t work = std::max<int64_t>(1, count_ * cost_);
    const bool dense = count_ > 0 && count_ <= kSplit && reduced_.rank == 1 &&
                       loops_.input.conversion == Conversion::none &&
                       reduced_strides_[0] == loops_.input.bytes;
    const auto fold = [&](const char* data, int64_t left, char* accumulators) {
      const int64_t rows = dense ? left : 1;
      if (dense)
        loops_.rows(fold_, accumulators, data, count_, rows, kept_strides_[0]);
      else
        fold_range(data, 0, count_, accumulators);
      return rows;
    };
    if (work * outputs_ <= kGrain) return fold_batches(0, outputs_, kFinished, fold);
    parallel_for(0, outputs_, std::max<int64_t>(1, kGrain / work),
                 [&](int64_t begin, int64_t end) { fold_batches(begin, end, kFinished, fold); });
  }

  /// Outputs [begin, end), up to `most` of which are stored at once: fold(data, left, accumulators)
  /// folds the first of `left` neighbours, or several, and returns how many.
  template <class Fold>
  void fold_batches(int64_t begin, int64_t end, int64_t most, const Fold& fold) const {
    const int64_t bytes = loops_.accumulator_bytes;
    alignas(64) char accumulators[kBatchBytes];
    Position position = kept_;
    position.seek(begin);
    while (begin < end) {
      const int64_t batch = std::min(most, end - begin);
      const Position first = position;
      for (int64_t i = 0, folded; i < batch; i += folded) {
        folded = fold(input_ + position.offset(kept_strides_),
                      std::min(batch - i, position.row_left()), accumulators + i * bytes);
        position.advance(folded);
      }
      store(first, accumulators, batch);
      begin += batch;
    }
  }

  /// Few outputs of many elements: threads share the reduced range, in pieces that do not depend on
  /// the number of threads.
  void run_split_rows(int64_t pieces) const {
    const int64_t unit = has_short_rows() ? row_length() : 1;
    const int64_t length = ((count_ + pieces - 1) / pieces + unit - 1) / unit * unit;
    const auto partials = std::make_unique<Slot[]>(static_cast<size_t>(outputs_ * pieces));
    parallel_for(0, outputs_ * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t piece = task % pieces;
        Position position = kept_;
        position.seek(task / pieces);
        fold_range(input_ + position.offset(kept_strides_), std::min(count_, piece * length),
                   std::min(count_, (piece + 1) * length), partials[task].bytes);
      }
    });
    for (int64_t o = 0; o < outputs_; ++o) {
      Slot* slots = &partials[o * pieces];
      for (int64_t step = 1; step < pieces; step *= 2)
        for (int64_t i = 0; i + step < pieces; i += 2 * step)
          loops_.combine(fold_, slots[i].bytes, slots[i + step].bytes, 1);
      Position position = kept_;
      position.seek(o);
      store(position, slots[0].bytes, 1);
    }
  }

  // --- a run of outputs at a time ---

  /// Neighbouring outputs of very few elements.
  void run_registers() const {
    const OperandKind& input = loops_.input;
    const bool plain = input.conversion == Conversion::none;
    const int64_t stride = reduced_strides_[0] / input.bytes, width = input.compute_bytes;
    parallel_for(0, outputs_, std::max<int64_t>(1, kGrain / (count_ * cost_)),
                 [&](int64_t begin, int64_t end) {
                   alignas(64) char loaded[kFewRows * kFinished * 16];
                   Results results;
                   Position position = kept_;
                   position.seek(begin);
                   for (int64_t batch; begin < end; begin += batch, position.advance(batch)) {
                     batch = std::min({kFinished, position.row_left(), end - begin});
                     const char* const data = input_ + position.offset(kept_strides_);
                     aim(position, batch, results);
                     for (int64_t r = 0; r < count_ && !plain; ++r)
                       load_run(loaded + r * batch * width, data + r * reduced_strides_[0],
                                kept_strides_[0], batch, input);
                     loops_.few(fold_, results.at, plain ? data : loaded, count_,
                                plain ? stride : batch, batch);
                     put(position, batch, results);
                   }
                 });
  }

  /// Outputs of few elements: one level of accumulators, which runs of short ones share.
  void run_few_rows() const {
    const int64_t most = kLevelBytes / loops_.accumulator_bytes;
    const auto fold = [&](const char* data, int64_t columns, char* accumulators) {
      loops_.init(fold_, accumulators, columns);
      take_all_rows(data, columns, accumulators);
      return columns;
    };
    parallel_for(0, outputs_, std::max<int64_t>(1, kGrain / (count_ * cost_)),
                 [&](int64_t begin, int64_t end) { fold_batches(begin, end, most, fold); });
  }

  /// Accumulators of neighbouring outputs take all their elements, which need no conversion.
  void take_all_rows(const char* data, int64_t columns, char* accumulators) const {
    for_row_runs(data, 0, count_, [&](const char* first, int64_t rows) {
      take_rows(first, rows, columns, accumulators);
      return rows;
    });
  }

  /// Calls body(first, rows) for the reduced rows [begin, end) of outputs whose input begins at
  /// `data`: rows that lie evenly apart, of which it takes one at least, and returns how many.
  template <class Body>
  void for_row_runs(const char* data, int64_t begin, int64_t end, const Body& body) const {
    Position position = reduced_;
    position.seek(begin);
    while (begin < end) {
      const int64_t rows = body(data + position.offset(reduced_strides_),
                                std::min(position.row_left(), end - begin));
      begin += rows;
      position.advance(rows);
    }
  }

  /// Accumulators of neighbouring outputs take rows as they lie in memory.
  void take_rows(const char* first, int64_t rows, int64_t columns, char* accumulators) const {
    const int64_t bytes = loops_.input.bytes;
    loops_.columns(fold_, accumulators, first, rows, reduced_strides_[0] / bytes, columns,
                   kept_strides_[0] / bytes);
  }

  /// Three levels of accumulators for up to `width` columns.
  struct Levels {
    alignas(64) char level[3][kLevelBytes];
    int64_t rows = 0, blocks = 0;  // that entered level 0 and level 1
  };

  /// Rows [begin, end) of `columns` neighbouring outputs; the result is in levels.level[2].
  void fold_columns(const char* data, int64_t begin, int64_t end, int64_t columns,
                    Levels& levels) const {
    for (char* level : {levels.level[0], levels.level[1], levels.level[2]})
      loops_.init(fold_, level, columns);
    levels.rows = levels.blocks = 0;
    const bool plain = loops_.input.conversion == Conversion::none;
    const int64_t width = loops_.input.compute_bytes;
    alignas(64) char buffer[16384];
    const int64_t most =
        plain ? kLevelRows : static_cast<int64_t>(sizeof buffer) / (columns * width);
    for_row_runs(data, begin, end, [&](const char* first, int64_t left) {
      const int64_t rows = std::min({left, kLevelRows - levels.rows, most});
      if (plain) {
        take_rows(first, rows, columns, levels.level[0]);
      } else {
        for (int64_t r = 0; r < rows; ++r)
          load_run(buffer + r * columns * width, first + r * reduced_strides_[0], kept_strides_[0],
                   columns, loops_.input);
        loops_.columns(fold_, levels.level[0], buffer, rows, columns, columns, 1);
      }
      if ((levels.rows += rows) == kLevelRows) empty(levels, columns);
      return rows;
    });
    loops_.combine(fold_, levels.level[1], levels.level[0], columns);
    loops_.combine(fold_, levels.level[2], levels.level[1], columns);
  }

  void empty(Levels& levels, int64_t columns) const {
    loops_.combine(fold_, levels.level[1], levels.level[0], columns);
    loops_.init(fold_, levels.level[0], columns);
    levels.rows = 0;
    if (++levels.blocks == kLevelRows) {
      loops_.combine(fold_, levels.level[2], levels.level[1], columns);
      loops_.init(fold_, levels.level[1], columns);
      levels.blocks = 0;
    }
  }

  /// How many columns are folded at a time, at most.
  int64_t most_columns() const {
    const int64_t most = kLevelBytes / loops_.accumulator_bytes;
    return loops_.input.conversion == Conversion::none ? most : std::min<int64_t>(most, 512);
  }

  /// How many pieces the rows are shared out in. It depends on the geometry only.
  int64_t column_pieces() const {
    const int64_t inner = kept_.extent[0];
    const int64_t by_rows =
        std::max(count_ / kRowsOfMore, int64_t{count_ < 2 * kRowsOfTwo ? 1 : 2});
    // Of what is further to the left, there is some for each thread.
    const int64_t near =
        outputs_ == inner ? std::min({by_rows, count_ * inner / kPieceElements, kMostPieces}) : 1;
    const int64_t few =
        outputs_ < kManyOutputs * 4 ? count_ / (kSplit / std::min(inner, kSplit)) : 1;
    return static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(std::max({near, few, int64_t{1}}))));
  }

  void run_columns() const {
    const int64_t inner = kept_.extent[0], outer = outputs_ / inner;
    // The width of a block has no influence on results, so it may follow the number of threads.
    const int64_t shares = std::max<int64_t>(1, num_threads() / outer);
    const int64_t width =
        std::min({most_columns(), inner, std::max<int64_t>(64, (inner / shares + 15) / 16 * 16)});
    const int64_t blocks = (inner + width - 1) / width;
    const int64_t work = std::max<int64_t>(1, count_ * cost_ * width);
    const auto body = [&](int64_t begin, int64_t end) {
      Levels levels;
      for (int64_t task = begin; task < end; ++task) {
        const Position position = block_position(task, blocks, width);
        const int64_t columns = std::min(width, inner - position.index[0]);
        fold_columns(input_ + position.offset(kept_strides_), 0, count_, columns, levels);
        store(position, levels.level[2], columns);
      }
    };
    if (work * outer * blocks <= kGrain) return body(0, outer * blocks);
    parallel_for(0, outer * blocks, std::max<int64_t>(1, kGrain / work), body);
  }

  void run_split_columns(int64_t pieces) const {
    ColumnPieces all(*this, pieces);
    parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        all.fold(piece);
        // Pairs of a thread's own pieces meet in its cache.
        for (int64_t step = 1; (piece + 1) % (2 * step) == 0 && piece + 1 - 2 * step >= begin;
             step *= 2)
          all.meet(piece + 1 - 2 * step, step);
      }
    });
    for (int64_t step = 1; step < pieces; step *= 2)
      for (int64_t i = 0; i < pieces; i += 2 * step) all.meet(i, step);
    all.store();
  }

  /// All columns, of a power of two of pieces of their rows.
  class ColumnPieces {
   public:
    ColumnPieces(const Walk& walk, int64_t pieces)
        : walk_(walk),
          inner_(walk.kept_.extent[0]),
          width_(std::min(walk.most_columns(), inner_)),
          blocks_((inner_ + width_ - 1) / width_),
          tasks_(walk.outputs_ / inner_ * blocks_),
          rows_((walk.count_ + pieces - 1) / pieces),
          bytes_(width_ * walk.loops_.accumulator_bytes),
          have_met_(static_cast<size_t>(pieces)),
          slots_(new char[static_cast<size_t>(tasks_ * pieces * bytes_)]) {}

    void fold(int64_t piece) {
      Levels levels;
      const int64_t begin = std::min(piece * rows_, walk_.count_);
      const int64_t end = std::min(begin + rows_, walk_.count_);
      for (int64_t task = 0; task < tasks_; ++task) {
        const Position position = walk_.block_position(task, blocks_, width_);
        const char* const data = walk_.input_ + position.offset(walk_.kept_strides_);
        walk_.fold_columns(data, begin, end, columns(position), levels);
        memcpy(slot(piece, task), levels.level[2],
               static_cast<size_t>(columns(position) * walk_.loops_.accumulator_bytes));
      }
    }
    /// Adds pieces [i + step, i + 2 step), which have met, to as many before, unless that is done.
    void meet(int64_t i, int64_t step) {
      char& is_done = have_met_[static_cast<size_t>(i + step)];
      if (is_done) return;
      for (int64_t task = 0; task < tasks_; ++task)
        walk_.loops_.combine(walk_.fold_, slot(i, task), slot(i + step, task),
                             columns(walk_.block_position(task, blocks_, width_)));
      is_done = 1;
    }
    void store() const {
      for (int64_t task = 0; task < tasks_; ++task) {
        const Position position = walk_.block_position(task, blocks_, width_);
        walk_.store(position, slot(0, task), columns(position));
      }
    }

   private:
    int64_t columns(const Position& position) const {
      return std::min(width_, inner_ - position.index[0]);
    }
    char* slot(int64_t piece, int64_t task) const {
      return slots_.get() + (piece * tasks_ + task) * bytes_;
    }

    const Walk& walk_;
    int64_t inner_, width_, blocks_, tasks_, rows_, bytes_;
    std::vector<char> have_met_;
    std::unique_ptr<char[]> slots_;
  };

  Position block_position(int64_t task, int64_t blocks, int64_t width) const {
    Position position = kept_;
    position.seek(task / blocks * kept_.extent[0]);
    position.index[0] = task % blocks * width;
    return position;
  }

  // --- results ---

  /// Results of neighbouring outputs: where they belong, or in a buffer on their way there.
  struct Results {
    alignas(64) char buffers[Reduction::kMaxOutputs][kFinished * 16];
    char* at[Reduction::kMaxOutputs];
  };

  void aim(const Position& position, int64_t count, Results& results) const {
    for (int i = 0; i < loops_.output_count; ++i) {
      const OperandKind& kind = loops_.outputs[i];
      const bool in_place = kind.conversion == Conversion::none && position.rank > 0 &&
                            output_strides_[i][0] == kind.bytes && count <= position.row_left();
      results.at[i] =
          in_place ? results_[i] + position.offset(output_strides_[i]) : results.buffers[i];
    }
  }

  /// Stores what does not lie where it belongs.
  void put(const Position& position, int64_t count, const Results& results) const {
    for (int i = 0; i < loops_.output_count; ++i) {
      const char* const from = results.buffers[i];
      if (results.at[i] != from) continue;
      if (position.rank == 0)
        store_run(results_[i], 0, from, 1, loops_.outputs[i]);
      else
        scatter(results_[i], position, output_strides_[i], from, count, loops_.outputs[i]);
    }
  }

  void store(Position position, const char* accumulators, int64_t count) const {
    Results results;
    for (int64_t batch; count > 0; count -= batch, position.advance(batch)) {
      batch = std::min(count, kFinished);
      aim(position, batch, results);
      loops_.finish(fold_, results.at, accumulators, batch, count_);
      put(position, batch, results);
      accumulators += batch * loops_.accumulator_bytes;
    }
  }

  const FoldLoops& loops_;
  const void* fold_;
  const char* input_;
  int64_t count_, outputs_, cost_;
  Position kept_, reduced_;
  int64_t kept_strides_[Position::kMaxRank] = {}, reduced_strides_[Position::kMaxRank];
  int64_t output_strides_[Reduction::kMaxOutputs][Position::kMaxRank];
  char* results_[Reduction::kMaxOutputs];
};

}  // namespace

FLAMBEAU_API void run_reduce(const Reduction& reduction, const FoldLoops& loops, const void* fold,
                             int64_t cost) {
  if (reduction.output_numel() == 0) return;
  check(reduction.output_count() == loops.output_count, ErrorKind::runtime, reduction.op(),
        ": the kernel was compiled for ", loops.output_count, " results, got ",
        reduction.output_count());
  Walk(reduction, loops, fold, cost).run();
}

}  // namespace detail

}  // namespace flambeau::cpu::FLAMBEAU_ISA
