#pragma once

#include <cstdint>
#include <memory>
#include <vector>

/// How discrete Fourier transforms of a length are computed. Plans are made once, in more digits
/// than they are used in, and kept.
namespace flambeau::cpu::fft {

/// One pass of Stockham's algorithm: transforms of length `radix`, turned by `twiddles`.
template <class T>
struct Pass {
  int64_t radix;
  int64_t count;            ///< what is left of the length, divided by `radix`
  std::vector<T> twiddles;  ///< e^(-2 pi i p k / (radix count)), parts side by side: [p][k - 1]
  std::vector<T> roots;     ///< e^(-2 pi i k / radix), for radices without a formula of their own
};

/// Of a length with small prime factors: passes over lines that lie side by side, and for long
/// lines, or few, a split n = rows * columns: transforms of the columns, a turn by `turns`, those
/// of the rows. Of another length: Bluestein's convolution with a chirp, of a length with factors
/// of 2, 3 and 5.
template <class T>
struct Plan {
  int64_t n = 0;
  std::vector<Pass<T>> passes;                      ///< none where the line is too long for a tile
  std::shared_ptr<const Plan> of_columns, of_rows;  ///< of length rows, of length columns
  std::vector<T> turns;  ///< e^(-2 pi i j k / n): [k < rows][j < columns], kTurnsBehind zeros
  std::shared_ptr<const Plan> padded;
  std::vector<T> chirp;   ///< e^(-pi i j^2 / n)
  std::vector<T> filter;  ///< the transform of its conjugate

  bool is_convolution() const { return padded != nullptr; }
  bool has_split() const { return of_columns != nullptr; }
};

/// Of a line as rows of 64 bytes of real numbers: transforms of the columns, which lie side by
/// side, turns, and those of the rows.
template <class T>
struct LinePlan {
  static constexpr int64_t kRow = 64 / sizeof(T);
  std::shared_ptr<const Plan<T>> of_columns;
  std::vector<T> turns;  ///< e^(-2 pi i j k / n): [k / row][0 < j < row][part][k % row]
};

/// Of n real numbers as n / 2 complex ones, n even: e^(-2 pi i k / n) for k <= n / 2.
template <class T>
struct RealPlan {
  std::shared_ptr<const Plan<T>> half;
  std::vector<T> roots;
  /// The same for k < n / 2, as LinePlan has turns: [k / width][part][k % width] in rows of 64
  /// bytes. Where n / 2 numbers make half a square of such rows, width is half a row, and repeated.
  std::vector<T> root_rows;
  int64_t root_width = 0;
};

/// Of the second-level cache; 0 where it is not known.
int64_t near_cache_bytes();
/// Lines of more elements are split: the second-level cache does not hold a tile of them, which is
/// 256 bytes for each element.
int64_t longest_tile();
/// Numbers behind the last turn, where a row of 64 bytes of them may begin.
inline constexpr size_t kTurnsBehind = 32;
/// Few lines of more elements than this are split anyway: so all threads have a part.
inline constexpr int64_t kLongAlone = 512;
/// Lines of more elements have no passes: the parts of longer ones are shorter than this.
inline constexpr int64_t kLongestPasses = int64_t{1} << 20;
/// Larger prime factors make a convolution.
inline constexpr int64_t kLargestPrime = 257;

template <class T>
std::shared_ptr<const Plan<T>> plan_of(int64_t n);
template <class T>
std::shared_ptr<const RealPlan<T>> real_plan_of(int64_t n);
/// n: a multiple of half a square of kRow.
template <class T>
std::shared_ptr<const LinePlan<T>> line_plan_of(int64_t n);

}  // namespace flambeau::cpu::fft
