#pragma once

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "core/threads/interrupt.h"
#include "cpu/sort/ordering.h"
#include "cpu/sort/parts.h"

/// Keys of 64 bits are sorted as words of 32 of their bits and a position: by the highest bits that
/// differ, then, where these are equal, by the others.
namespace flambeau::cpu {

template <class T>
class WideOrder {
  static_assert(sizeof(KeyOf<T>) == 8);

 public:
  /// Of a row of fewer than 2^32; `words` has room for twice as many.
  WideOrder(const T* row, int64_t length, uint64_t flip, uint64_t* words)
      : row_(row), length_(length), flip_(flip), words_(words) {
    const int64_t parts = parts_of_row(length);
    std::vector<std::pair<uint64_t, uint64_t>> ranges(static_cast<size_t>(parts));
    over_parts(length, parts, [&](int64_t part, int64_t begin, int64_t end) {
      ranges[static_cast<size_t>(part)] = range(begin, end);
    });
    uint64_t low = ~uint64_t{0}, high = 0;
    for (const auto& [least, most] : ranges) {
      low = std::min(low, least);
      high = std::max(high, most);
    }
    low_ = low;
    tail_bits_ = std::max(0, 32 - std::countl_zero(high - low));
  }

  /// `finish` is called as by sort_items, and may ask what is in order there.
  void sort(Finish finish = finish_nothing) const {
    over_row(length_, [&](int64_t begin, int64_t end) { put_heads(begin, end); });
    if (tail_bits_ == 0) return sort_items(words_, words_ + length_, length_, finish);
    sort_items(words_, words_ + length_, length_);
    sort_tails();
    over_row(length_, finish);
  }
  /// Once they are in order.
  int64_t position(int64_t i) const { return position_of(words_[i]); }
  T element(int64_t i) const {
    if constexpr (!has_shared_keys<T>) {
      // At hand: positions are all over the row.
      if (tail_bits_ == 0) return value_of<T>((low_ + key_of(words_[i])) ^ flip_);
    }
    return row_[position(i)];
  }

 private:
  uint64_t key(int64_t position) const { return order_key(row_[position]) ^ flip_; }

  /// The least and the largest key among elements [begin, end).
  std::pair<uint64_t, uint64_t> range(int64_t begin, int64_t end) const {
    uint64_t low = ~uint64_t{0}, high = 0;
    in_blocks(end - begin, [&](int64_t first, int64_t last) {
      for (int64_t i = begin + first; i < begin + last; ++i) {
        low = std::min(low, key(i));
        high = std::max(high, key(i));
      }
    });
    return {low, high};
  }
  void put_heads(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i)
      words_[i] = (key(i) - low_) >> tail_bits_ << 32 | static_cast<uint64_t>(i);
  }

  bool has_head_of_former(int64_t i) const { return key_of(words_[i]) == key_of(words_[i - 1]); }

  /// Sorts runs of equal heads, in parts that begin where a run does.
  void sort_tails() const {
    const int64_t parts = parts_of_row(length_);
    const auto start = [&](int64_t i) {
      if (i == 0 || i == length_) return i;
      const uint64_t largest = words_[i - 1] | ~uint32_t{0};
      return std::upper_bound(words_ + i, words_ + length_, largest) - words_;
    };
    std::vector<int64_t> starts;
    for (int64_t part = 0; part <= parts; ++part) starts.push_back(start(length_ * part / parts));
    over_parts(length_, parts, [&](int64_t part, int64_t, int64_t) {
      sort_tails(starts[static_cast<size_t>(part)], starts[static_cast<size_t>(part) + 1]);
    });
  }
  void sort_tails(int64_t begin, int64_t end) const {
    constexpr int64_t kBlock = 4096;
    for (int64_t i = begin + 1, looked = i; i < end; ++i) {
      if (!has_head_of_former(i)) {
        if (i - looked < kBlock) continue;
      } else {
        const int64_t first = i - 1;
        while (i < end && has_head_of_former(i)) ++i;
        sort_run(first, i);
      }
      check_interrupt();
      looked = i;
    }
  }
  void sort_run(int64_t begin, int64_t end) const {
    constexpr int64_t kShort = 16;
    const uint64_t tail = (uint64_t{1} << tail_bits_) - 1;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t position = position_of(words_[i]);
      words_[i] = ((key(position) - low_) & tail) << 32 | static_cast<uint64_t>(position);
    }
    if (end - begin > kShort)
      return sort_items(words_ + begin, words_ + length_ + begin, end - begin);
    for (int64_t i = begin + 1; i < end; ++i) {
      const uint64_t word = words_[i];
      int64_t place = i;
      for (; place > begin && words_[place - 1] > word; --place) words_[place] = words_[place - 1];
      words_[place] = word;
    }
  }

  const T* row_;
  int64_t length_;
  uint64_t flip_, low_;
  int tail_bits_;
  uint64_t* words_;
};

}  // namespace flambeau::cpu
