#include "cpu/sort/ordering.h"

#include <algorithm>
#include <vector>

#include "cpu/sort/digits.h"
#include "cpu/sort/parts.h"
#include "cpu/sort/sample.h"
#include "cpu/sort/word_kernels.h"

namespace flambeau::cpu {
namespace {

/// Sorting by several threads: each divides a part of the words by their size into buckets, which
/// are then brought together and sorted.
template <class Word>
class Buckets {
 public:
  Buckets(Word* words, Word* spare, int64_t count)
      : words_(words),
        spare_(spare),
        count_(count),
        parts_(parts_of_row(count)),
        buckets_(4 * parts_) {
    limits_ = limits();
    pieces_.resize(static_cast<size_t>(parts_ * buckets_));
  }
  void sort(Finish finish) {
    over_parts(count_, parts_, [&](int64_t part, int64_t begin, int64_t end) {
      divide(words_ + begin, spare_ + begin, end - begin, &piece(part, 0), 0, buckets_);
    });
    std::vector<int64_t> starts{0};
    for (int64_t bucket = 0; bucket < buckets_; ++bucket) {
      int64_t size = 0;
      for (int64_t part = 0; part < parts_; ++part) size += piece(part, bucket).count;
      starts.push_back(starts.back() + size);
    }
    const Items<Word> memory(count_);
    Word* const together = memory.data();
    const auto over_buckets = [&](const auto& body) {
      parallel_for(0, buckets_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t bucket = begin; bucket < end; ++bucket)
          body(bucket, starts[static_cast<size_t>(bucket)]);
      });
    };
    over_buckets([&](int64_t bucket, int64_t start) {
      Word* to = together + start;
      for (int64_t part = 0; part < parts_; ++part) {
        const Piece& from = piece(part, bucket);
        to = std::copy_n(from.words, from.count, to);
      }
    });
    over_buckets([&](int64_t bucket, int64_t start) {
      const int64_t size = starts[static_cast<size_t>(bucket) + 1] - start;
      kernels_.sort(together + start, words_ + start, size, true);
      in_blocks(size, [&](int64_t begin, int64_t end) { finish(start + begin, start + end); });
    });
  }

 private:
  struct Piece {
    const Word* words;
    int64_t count;
  };
  Piece& piece(int64_t part, int64_t bucket) {
    return pieces_[static_cast<size_t>(part * buckets_ + bucket)];
  }
  /// The largest words of buckets, from a sample.
  std::vector<Word> limits() const {
    constexpr int64_t kEach = 64;
    const int64_t size = buckets_ * kEach;
    std::vector<Word> sample(static_cast<size_t>(2 * size)), found;
    for (int64_t i = 0; i < size; ++i)
      sample[static_cast<size_t>(i)] = words_[sample_place(i, size, count_)];
    kernels_.sort(sample.data(), sample.data() + size, size, false);
    for (int64_t i = kEach; i < size; i += kEach) found.push_back(sample[static_cast<size_t>(i)]);
    return found;
  }
  void divide(Word* words, Word* spare, int64_t count, Piece* pieces, int64_t first, int64_t last) {
    if (last - first == 1) {
      pieces[first] = {words, count};
      return;
    }
    const int64_t middle = (first + last) / 2;
    const Word limit = limits_[static_cast<size_t>(middle - 1)];
    const int64_t below = kernels_.partition(words, spare, count, limit), above = count - below;
    divide(words, spare + above, below, pieces, first, middle);
    divide(spare, words + below, above, pieces, middle, last);
  }

  const WordKernels<Word>& kernels_ = word_kernels<Word>();
  Word *words_, *spare_;
  int64_t count_, parts_, buckets_;
  std::vector<Word> limits_;
  std::vector<Piece> pieces_;
};

template <class Word>
void sort_words(Word* words, Word* spare, int64_t count, Finish finish) {
  if (parts_of_row(count) > 1) return Buckets<Word>(words, spare, count).sort(finish);
  word_kernels<Word>().sort(words, spare, count, false);
  over_row(count, finish);
}

template <class Word>
void sort_any_keys(Word* keys, Word* spare, int64_t count, Finish finish) {
  constexpr int64_t kLong = 4 << kDigitBits;  // beside a table of digits
  const bool by_words = word_kernels<Word>().sort != nullptr;
  const bool is_long = count >= kLong;
  if (by_words && !(is_long && differing_bits(keys, count, kDigitBits + 1) <= kDigitBits))
    return sort_words(keys, spare, count, finish);
  sort_by_digits(keys, spare, count);
  over_row(count, finish);
}

}  // namespace

void sort_keys(uint32_t* keys, uint32_t* spare, int64_t count, Finish finish) {
  sort_any_keys(keys, spare, count, finish);
}
void sort_keys(uint64_t* keys, uint64_t* spare, int64_t count, Finish finish) {
  sort_any_keys(keys, spare, count, finish);
}

void sort_items(uint64_t* items, uint64_t* spare, int64_t count, Finish finish) {
  // As words: those of equal keys differ in their positions.
  if (word_kernels<uint64_t>().sort) return sort_words(items, spare, count, finish);
  sort_items_by_digits(items, spare, count);
  over_row(count, finish);
}

void sort_items(WideItem* items, WideItem* spare, int64_t count, Finish finish) {
  sort_by_digits(items, spare, count);
  over_row(count, finish);
}

}  // namespace flambeau::cpu
