/// Loops over unsigned words that sorting and selection are made of, against the standard library.

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "check.h"
#include "core/random/random.h"
#include "cpu/sort/quicksort.h"
#include "cpu/sort/sample.h"
#include "cpu/sort/word_kernels.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

template <class T>
using Words = std::vector<T>;
/// What stands behind a row, which nobody may write.
template <class T>
constexpr T kBehind = T(0x5a5a5a5a);

/// Rows of a length that are hard in one way each.
template <class T>
std::vector<Words<T>> rows_of(int64_t length) {
  const auto random = [](int64_t i) { return random_words({9, 0}, static_cast<uint64_t>(i), 0); };
  const auto any = [&](int64_t i) {
    const RandomWords words = random(i);
    return static_cast<T>(uint64_t{words.word[0]} << 32 | words.word[1]);
  };
  const T most = ~T{0};
  const std::vector<std::function<T(int64_t)>> kinds = {
      any,
      [&](int64_t i) { return static_cast<T>(any(i) % 4); },
      [&](int64_t i) { return any(i) % 2 ? most : T{0}; },
      [&](int64_t i) { return static_cast<T>(any(i) % 50 + most / 2 - 25); },
      [](int64_t i) { return static_cast<T>(i); },
      [](int64_t i) { return static_cast<T>(-i); },
      [&](int64_t i) { return static_cast<T>(std::min(i, length - i)); },
      [](int64_t i) { return static_cast<T>(i % 7); },
      [&](int64_t) { return most; },
      [](int64_t) { return T{0}; },
  };
  std::vector<Words<T>> rows;
  for (const auto& kind : kinds) {
    Words<T> row(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) row[static_cast<size_t>(i)] = kind(i);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// A copy with a word behind it.
template <class T>
Words<T> guarded(const Words<T>& row) {
  Words<T> copy(row);
  copy.push_back(kBehind<T>);
  return copy;
}
template <class T>
Words<T> room_for(const Words<T>& row) {
  return guarded(Words<T>(row.size(), T{1}));
}

/// Whether the row begins with these words, and nothing was written behind it.
template <class T>
bool holds(const Words<T>& row, const Words<T>& wanted) {
  return row.back() == kBehind<T> && std::equal(wanted.begin(), wanted.end(), row.begin());
}

template <class T>
bool sorts(const Words<T>& row) {
  Words<T> wanted(row);
  std::sort(wanted.begin(), wanted.end());
  const auto length = static_cast<int64_t>(row.size());
  Words<T> in_place = guarded(row), spare = room_for(row), other = guarded(row),
           target = room_for(row);
  quicksort(in_place.data(), spare.data(), length, false);
  quicksort(other.data(), target.data(), length, true);
  return holds(in_place, wanted) && spare.back() == kBehind<T> && holds(target, wanted) &&
         other.back() == kBehind<T>;
}

template <class T>
bool selects(const Words<T>& row, const Words<T>& sorted) {
  const auto length = static_cast<int64_t>(row.size());
  for (const int64_t rank : {int64_t{0}, length / 3, length / 2, length - 1}) {
    Words<T> words = guarded(row), spare = room_for(row);
    if (word_kernels<T>().select(words.data(), spare.data(), length, rank) !=
        sorted[static_cast<size_t>(rank)])
      return false;
    if (words.back() != kBehind<T> || spare.back() != kBehind<T>) return false;
  }
  return true;
}

template <class T>
bool divides(const Words<T>& row, T limit) {
  Words<T> words = guarded(row), spare = room_for(row), low, high;
  for (const T word : row) (word > limit ? high : low).push_back(word);
  const int64_t stay = word_kernels<T>().partition(words.data(), spare.data(),
                                                   static_cast<int64_t>(row.size()), limit);
  return stay == static_cast<int64_t>(low.size()) && holds(words, low) && holds(spare, high);
}

template <class T>
bool finds(const Words<T>& row, T low, T high) {
  Words<T> places = room_for(row), wanted;
  int64_t below = 3, less = 3;
  for (size_t i = 0; i < row.size(); ++i) {
    less += row[i] < low;
    if (row[i] >= low && row[i] <= high) wanted.push_back(static_cast<T>(i + 5));
  }
  const int64_t found = word_kernels<T>().find(
      places.data(), row.data(), static_cast<int64_t>(row.size()), T{5}, low, high, below);
  return found == static_cast<int64_t>(wanted.size()) && below == less && holds(places, wanted);
}

template <class T>
bool leaves_distinct(const Words<T>& sorted) {
  Words<T> found = room_for(sorted), wanted(sorted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  const auto length = static_cast<int64_t>(sorted.size()), half = length / 2;
  const auto& distinct = word_kernels<T>().distinct;
  int64_t count = distinct(found.data(), sorted.data(), 0, half);
  count += distinct(found.data() + count, sorted.data(), half, length);
  return count == static_cast<int64_t>(wanted.size()) && holds(found, wanted);
}

template <class T>
void check_rows(int64_t length) {
  for (const Words<T>& row : rows_of<T>(length)) {
    Words<T> sorted(row);
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorts(row));
    CHECK(leaves_distinct(sorted));
    if (length == 0) continue;
    const T low = sorted[row.size() / 3], high = sorted[row.size() / 2];
    CHECK(selects(row, sorted));
    CHECK(divides(row, low));
    CHECK(finds(row, low, high));
    CHECK(finds(row, T{0}, static_cast<T>(~T{0})));
  }
}

TEST(short_rows) {
  for (int64_t length = 0; length <= 300; ++length) {
    check_rows<uint32_t>(length);
    check_rows<uint64_t>(length);
  }
}
TEST(long_rows) {
  for (const int64_t length : {511, 1024, 1025, 5000, 70001}) {
    check_rows<uint32_t>(length);
    check_rows<uint64_t>(length);
  }
}

/// Where words are read to choose a pivot.
template <class T>
std::vector<int64_t> sample_places(int64_t count) {
  std::vector<int64_t> places;
  if (count < detail::kShortRow<T>) {
    for (const int64_t first : {count / 4, count / 2, count / 4 * 3})
      for (int i = 0; i < kLanes<T>; ++i) places.push_back(first + i);
  } else {
    for (int i = 0; i < 4 * kLanes<T>; ++i) places.push_back(sample_place(i, 4 * kLanes<T>, count));
  }
  return places;
}

/// A row whose samples are its smallest words, however often it is divided: as division keeps the
/// order of words, these are where the samples will be taken.
template <class T>
Words<T> worst_row(int64_t length) {
  Words<T> row(static_cast<size_t>(length), T{0});
  std::vector<int64_t> left(row.size());
  std::iota(left.begin(), left.end(), 0);
  T next = 1;
  while (static_cast<int64_t>(left.size()) > kNetwork<T>) {
    const auto count = static_cast<int64_t>(left.size());
    Words<T> now(left.size());
    for (const int64_t place : sample_places<T>(count)) {
      T& word = row[static_cast<size_t>(left[static_cast<size_t>(place)])];
      if (word == 0) word = next++;
      now[static_cast<size_t>(place)] = word;
    }
    const T pivot = detail::choose_pivot(now.data(), count, count / 2);
    std::erase_if(left, [&](int64_t place) {
      const T word = row[static_cast<size_t>(place)];
      return word != 0 && word < pivot;
    });
  }
  for (const int64_t place : left) row[static_cast<size_t>(place)] = next++;
  return row;
}

TEST(bad_pivots) {
  for (const int64_t length : {3000, 20000}) {
    CHECK(sorts(worst_row<uint32_t>(length)));
    CHECK(sorts(worst_row<uint64_t>(length)));
  }
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
