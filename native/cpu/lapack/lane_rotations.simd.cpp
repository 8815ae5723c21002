#include "cpu/lapack/lane_rotations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/linalg/vector.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int kMostRounds = 40;  // of all pairs; six or so are enough

template <class T>
Vector<T> size_of(Vector<T> x) {
  return x < T(0) ? -x : x;
}
template <class T>
Vector<T> greater(Vector<T> a, Vector<T> b) {
  return a > b ? a : b;
}
template <class T>
Vector<T> root(Vector<T> x) {
  for (int l = 0; l < kLanes<T>; ++l) x[l] = std::sqrt(x[l]);
  return x;
}
template <class T, class Choice>
uint32_t bits_of(const Choice& choice) {
  uint32_t found = 0;
  for (int l = 0; l < kLanes<T>; ++l) found |= static_cast<uint32_t>(choice[l] != 0) << l;
  return found;
}
template <class T>
constexpr uint32_t kAll = (uint32_t{1} << kLanes<T>)-1;

template <class T, class Choice>
bool any(const Choice& choice) {
  bool found = false;
  for (int l = 0; l < kLanes<T>; ++l) found |= choice[l] != 0;
  return found;
}

/// x - x is 0 of finite numbers alone.
template <class T>
uint32_t not_finite(Vector<T> x) {
  return bits_of<T>(x - x != T(0));
}

/// A rotation by an angle of at most 45 degrees.
template <class T>
struct Rotation {
  Vector<T> tangent, cosine, sine;

  /// The one that takes `beside` out of [[first, beside], [beside, second]]; none where that is 0.
  Rotation(Vector<T> first, Vector<T> second, Vector<T> beside) {
    const Vector<T> ratio = (second / T(2) - first / T(2)) / beside;  // no difference overflows
    const Vector<T> size = T(1) / (size_of<T>(ratio) + root<T>(ratio * ratio + T(1)));
    tangent = ratio < T(0) ? -size : size;
    tangent = beside == T(0) ? Vector<T>{} : tangent;
    cosine = T(1) / root<T>(tangent * tangent + T(1));
    sine = tangent * cosine;
  }
  void apply(T* x, T* y) const {
    const Vector<T> a = load(x), b = load(y);
    store(x, multiply_add<T>(cosine, a, -(sine * b)));
    store(y, multiply_add<T>(sine, a, cosine * b));
  }
};

template <class T>
void set_identity(int64_t n, T* vectors) {
  constexpr int64_t lanes = kLanes<T>;
  std::fill_n(vectors, n * n * lanes, T(0));
  for (int64_t i = 0; i < n; ++i) std::fill_n(vectors + i * (n + 1) * lanes, lanes, T(1));
}

/// Exchanges x and y where `choice` says so.
template <class T, class Choice>
void exchange(const Choice& choice, T* x, T* y) {
  const Vector<T> a = load(x), b = load(y);
  store(x, choice ? b : a);
  store(y, choice ? a : b);
}

/// Values into their order, with the columns that belong to them, of so many rows.
template <bool ascending, class T>
void sort(int64_t count, T* values, T* one, int64_t one_rows, T* other, int64_t other_rows) {
  constexpr int64_t lanes = kLanes<T>;
  for (int64_t end = count - 1; end > 0; --end)
    for (int64_t j = 0; j < end; ++j) {
      T *const here = values + j * lanes, *const next = here + lanes;
      const auto choice = ascending ? load(here) > load(next) : load(here) < load(next);
      if (!any<T>(choice)) continue;
      exchange(choice, here, next);
      for (int64_t i = 0; one && i < one_rows; ++i)
        exchange(choice, one + (i * count + j) * lanes, one + (i * count + j + 1) * lanes);
      for (int64_t i = 0; other && i < other_rows; ++i)
        exchange(choice, other + (i * count + j) * lanes, other + (i * count + j + 1) * lanes);
    }
}

template <class T>
uint32_t symmetric(int64_t n, T* a, T* values, T* vectors) {
  constexpr int64_t lanes = kLanes<T>;
  constexpr T kSmall = std::numeric_limits<T>::epsilon() / 16;
  const auto at = [&](int64_t i, int64_t j) { return a + (i * n + j) * lanes; };
  if (vectors) set_identity(n, vectors);
  Vector<T> largest{};
  uint32_t failed = 0;
  for (int64_t p = 0; p < n; ++p)
    for (int64_t q = p; q < n; ++q) {
      const Vector<T> x = load(at(p, q));
      failed |= not_finite<T>(x);
      largest = greater<T>(largest, size_of<T>(x));
    }
  const Vector<T> limit = largest * kSmall;
  bool is_done = false;
  for (int round = 0; round < kMostRounds && !is_done; ++round) {
    is_done = true;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const Vector<T> found = load(at(p, q));
        const auto counts = size_of<T>(found) > limit;
        if (!any<T>(counts)) continue;
        is_done = false;
        const Vector<T> beside = counts ? found : Vector<T>{};  // lanes do not look at each other
        const Rotation<T> rotation(load(at(p, p)), load(at(q, q)), beside);
        const Vector<T> moved = rotation.tangent * beside;
        store(at(p, p), load(at(p, p)) - moved);
        store(at(q, q), load(at(q, q)) + moved);
        store(at(p, q), found - beside);
        for (int64_t r = 0; r < n; ++r) {
          if (r != p && r != q)
            rotation.apply(r < p ? at(r, p) : at(p, r), r < q ? at(r, q) : at(q, r));
          if (vectors) rotation.apply(vectors + (r * n + p) * lanes, vectors + (r * n + q) * lanes);
        }
      }
  }
  for (int64_t i = 0; i < n; ++i) std::copy_n(at(i, i), lanes, values + i * lanes);
  sort<true>(n, values, vectors, n, static_cast<T*>(nullptr), 0);
  return is_done ? failed : kAll<T>;
}

template <class T>
uint32_t singular(int64_t rows, int64_t columns, T* a, T* values, T* vectors) {
  constexpr int64_t lanes = kLanes<T>;
  constexpr T kSmall = 4 * std::numeric_limits<T>::epsilon();  // what sums are known to
  // Below this, squares of parts of the largest element are no numbers to divide by.
  static const T least = std::sqrt(std::numeric_limits<T>::min()) / kSmall;
  const auto at = [&](int64_t i, int64_t j) { return a + (i * columns + j) * lanes; };
  if (vectors) set_identity(columns, vectors);
  Vector<T> unit{};
  uint32_t failed = 0;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const Vector<T> x = load(a + i * lanes);
    failed |= not_finite<T>(x);
    unit = greater<T>(unit, size_of<T>(x));
  }
  unit = unit < std::numeric_limits<T>::min() ? splat(T(1)) : unit;
  for (int64_t i = 0; i < rows * columns; ++i) store(a + i * lanes, load(a + i * lanes) / unit);
  bool is_done = false;
  for (int round = 0; round < kMostRounds && !is_done; ++round) {
    is_done = true;
    for (int64_t p = 0; p < columns; ++p)
      for (int64_t q = p + 1; q < columns; ++q) {
        Vector<T> first{}, second{}, beside{};
        for (int64_t i = 0; i < rows; ++i) {
          const Vector<T> x = load(at(i, p)), y = load(at(i, q));
          first = multiply_add<T>(x, x, first);
          second = multiply_add<T>(y, y, second);
          beside = multiply_add<T>(x, y, beside);
        }
        // Of columns that have vanished nothing is asked.
        const Vector<T> limit = greater<T>(root<T>(first) * root<T>(second) * kSmall,
                                           splat(std::numeric_limits<T>::min()));
        const auto counts = size_of<T>(beside) > limit;
        if (!any<T>(counts)) continue;
        is_done = false;
        const Rotation<T> rotation(first, second, counts ? beside : Vector<T>{});
        for (int64_t i = 0; i < rows; ++i) rotation.apply(at(i, p), at(i, q));
        for (int64_t i = 0; vectors && i < columns; ++i)
          rotation.apply(vectors + (i * columns + p) * lanes, vectors + (i * columns + q) * lanes);
      }
  }
  for (int64_t j = 0; j < columns; ++j) {
    Vector<T> squares{};
    for (int64_t i = 0; i < rows; ++i) squares += load(at(i, j)) * load(at(i, j));
    const Vector<T> norm = root<T>(squares);
    if (vectors) failed |= bits_of<T>(norm < least);
    for (int64_t i = 0; vectors && i < rows; ++i) store(at(i, j), load(at(i, j)) / norm);
    store(values + j * lanes, norm * unit);
  }
  sort<false>(columns, values, vectors ? a : nullptr, rows, vectors, columns);
  return is_done ? failed : kAll<T>;
}

}  // namespace

template <class T>
const LaneRotations<T>& lane_rotations() {
  static constexpr LaneRotations<T> kernels{kLanes<T>, &symmetric<T>, &singular<T>};
  return kernels;
}
template const LaneRotations<float>& lane_rotations();
template const LaneRotations<double>& lane_rotations();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
