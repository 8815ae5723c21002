#pragma once

// Include only from *.simd.cpp files.

#include <utility>

#include "cpu/sort/digits.h"
#include "cpu/sort/network.h"
#include "cpu/sort/partition.h"
#include "cpu/sort/sample.h"

/// Quicksort of unsigned words between two pieces of memory: what leaves one when words are divided
/// is sorted from there into its place, so that nothing is copied back. Few words go through a
/// network; what was divided too often, because pivots were bad, is sorted by digits.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace detail {

/// Of words in order the one at about this share of them; not one of the smallest or largest, which
/// might divide off a few words only.
template <class T>
T word_at(const T* words, int size, int64_t rank, int64_t count) {
  const double share = static_cast<double>(rank) / static_cast<double>(count);
  return words[std::clamp(static_cast<int>(share * size), size / 4, size * 3 / 4)];
}

/// Rows of which three vectors are sample enough.
template <class T>
inline constexpr int64_t kShortRow = 16 * kNetwork<T>;

/// From the medians of lanes.
template <class T>
T pivot_of_vectors(const T* words, int64_t count, int64_t rank) {
  const auto lesser = [](Vector<T> a, Vector<T> b) { return a < b ? a : b; };
  const auto greater = [](Vector<T> a, Vector<T> b) { return a < b ? b : a; };
  const Vector<T> a = load(words + count / 4), b = load(words + count / 2),
                  c = load(words + count / 4 * 3);
  T sample[kLanes<T>];
  store(sample, greater(lesser(a, b), lesser(greater(a, b), c)));
  sort_by_network(sample, sample, kLanes<T>);
  return word_at(sample, kLanes<T>, rank, count);
}

template <class T>
T pivot_of_sample(const T* words, int64_t count, int64_t rank) {
  constexpr int size = 4 * kLanes<T>;
  T sample[size];
  for (int i = 0; i < size; ++i) sample[i] = words[sample_place(i, size, count)];
  sort_by_network(sample, sample, size);
  return word_at(sample, size, rank, count);
}

/// A word of about this rank.
template <class T>
T choose_pivot(const T* words, int64_t count, int64_t rank) {
  return count < kShortRow<T> ? pivot_of_vectors(words, count, rank)
                              : pivot_of_sample(words, count, rank);
}

/// How often words are divided before they are sorted by digits.
inline int most_divisions(int64_t count) {
  return 2 * (64 - __builtin_clzll(static_cast<uint64_t>(count) | 1));
}

/// Words that are to be sorted, none below `least`; the result belongs into `words`, or in `spare`.
template <class T>
struct Range {
  T *words, *spare;
  int64_t count;
  bool to_spare;
  T least;

  T* target() const { return to_spare ? spare : words; }
};

template <class T>
void sort_range(Range<T> range, int divisions) {
  for (; range.count > kNetwork<T>; --divisions) {
    const auto [words, spare, count, to_spare, least] = range;
    if (divisions == 0) {
      sort_by_digits(words, spare, count);
      if (to_spare) std::copy_n(words, count, spare);
      return;
    }
    const T pivot = choose_pivot(words, count, count / 2);
    // Nothing is below the least word: those equal to it are divided off, and are in order.
    const bool is_least = pivot == least;
    const T limit = is_least ? pivot : pivot - 1;
    // What stays is where the result of it belongs.
    Range<T> low, high;
    if (to_spare) {
      const int64_t above = partition<Leaving::others>(words, spare, count, limit);
      const int64_t below = count - above;
      low = {spare, words + above, below, false, least};
      high = {words, spare + below, above, true, pivot};
    } else {
      const int64_t below = partition<Leaving::above>(words, spare, count, limit);
      const int64_t above = count - below;
      low = {words, spare + above, below, false, least};
      high = {spare, words + below, above, true, pivot};
    }
    if (!is_least) sort_range(low, divisions - 1);
    range = high;
  }
  sort_by_network(range.words, range.target(), range.count);
}

}  // namespace detail

/// Sorts words, in their place or into `spare`, which has room for as many.
template <class T>
void quicksort(T* words, T* spare, int64_t count, bool to_spare) {
  detail::sort_range<T>({words, spare, count, to_spare, T{0}}, detail::most_divisions(count));
}

/// The word of a rank, from 0, in the order of words, which are left in any order; as is `spare`.
template <class T>
T quickselect(T* words, T* spare, int64_t count, int64_t rank) {
  T least = 0;
  for (int left = detail::most_divisions(count); count > kNetwork<T>; --left) {
    if (left == 0) {
      sort_by_digits(words, spare, count);
      return words[rank];
    }
    const T pivot = detail::choose_pivot(words, count, rank);
    const bool is_least = pivot == least;
    const int64_t below =
        partition<Leaving::above>(words, spare, count, is_least ? pivot : pivot - 1);
    if (rank < below) {
      if (is_least) return pivot;
      count = below;
    } else {
      rank -= below;
      count -= below;
      least = pivot;
      std::swap(words, spare);
    }
  }
  sort_by_network(words, words, count);
  return words[rank];
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
