#include "cpu/lapack/lane_rotations.h"

#include <bit>
#include <limits>

#include "cpu/lapack/lane_numbers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int kMostRounds = 40;  // of all pairs; six or so are enough

template <class T, class Choice>
uint32_t bits_of(const Choice& choice) {
  uint32_t found = 0;
  for (int l = 0; l < kLanes<T>; ++l) found |= static_cast<uint32_t>(choice[l] != 0) << l;
  return found;
}
template <class T>
constexpr uint32_t kAll = (uint32_t{1} << kLanes<T>)-1;

/// x - x is 0 of finite numbers alone.
template <class T>
uint32_t not_finite(Vector<T> x) {
  return bits_of<T>(x - x != T(0));
}

/// Powers of two that elements of at most `largest` are divided by, so that they can be squared.
template <class T>
Vector<T> units_of(Vector<T> largest) {
  using Bits = decltype(largest < largest);
  constexpr auto kExponent = std::bit_cast<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>(
      std::numeric_limits<T>::infinity());
  const auto found = (Vector<T>)((Bits)largest & kExponent);
  return found < std::numeric_limits<T>::min() ? splat(T(1)) : found;
}

/// A rotation by an angle of at most 45 degrees of two columns, of which the second is first turned
/// by what makes `beside` real.
template <class E>
struct Rotation {
  using T = Real<E>;
  Vector<T> moved, cosine, sine;
  Numbers<E> turn;

  /// The one that takes `beside` out of [[first, beside], [conj(beside), second]], which become
  /// first - moved and second + moved; none where that is 0.
  Rotation(Vector<T> first, Vector<T> second, Numbers<E> beside) {
    Vector<T> size;
    if constexpr (kIsComplex<E>) {
      size = magnitude<T>(beside);
      const Vector<T> divisor = size == T(0) ? splat(T(1)) : size;
      turn = {beside.re / divisor, -beside.im / divisor};
      turn.re = size == T(0) ? splat(T(1)) : turn.re;
    } else {
      size = beside;
    }
    const Vector<T> ratio = (second / T(2) - first / T(2)) / size;  // no difference overflows
    const Vector<T> least = T(1) / (magnitude<T>(ratio) + root<T>(ratio * ratio + T(1)));
    Vector<T> tangent = ratio < T(0) ? -least : least;
    tangent = size == T(0) ? Vector<T>{} : tangent;
    moved = tangent * size;
    cosine = T(1) / root<T>(tangent * tangent + T(1));
    sine = tangent * cosine;
  }
  /// Of elements of both columns, or of their conjugates.
  void apply(E* x, E* y, bool x_turned = false, bool y_turned = false) const {
    if constexpr (kIsComplex<E>) {
      const auto straight = [](Numbers<E> z, bool turned) { return turned ? conjugate<T>(z) : z; };
      const Numbers<E> a = straight(read(x), x_turned);
      const Numbers<E> b = turn * straight(read(y), y_turned);
      write(x, straight(cosine * a - sine * b, x_turned));
      write(y, straight(sine * a + cosine * b, y_turned));
    } else {
      const Vector<T> a = load(x), b = load(y);
      store(x, multiply_add<T>(cosine, a, -(sine * b)));
      store(y, multiply_add<T>(sine, a, cosine * b));
    }
  }
};

template <class E>
void set_identity(int64_t n, E* vectors) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      write(vectors + (i * n + j) * kMatrices<E>, number<E>(splat<Real<E>>(i == j ? 1 : 0)));
}

/// Values into their order, with the columns that belong to them, of so many rows.
template <bool ascending, class E>
void sort(int64_t count, Real<E>* values, E* one, int64_t one_rows, E* other, int64_t other_rows) {
  constexpr int64_t lanes = kMatrices<E>;
  for (int64_t end = count - 1; end > 0; --end)
    for (int64_t j = 0; j < end; ++j) {
      Real<E>*const here = values + j * lanes, *const next = here + lanes;
      const auto choice = ascending ? load(here) > load(next) : load(here) < load(next);
      if (!any<Real<E>>(choice)) continue;
      exchange(choice, here, next);
      for (int64_t i = 0; one && i < one_rows; ++i)
        exchange(choice, one + (i * count + j) * lanes, one + (i * count + j + 1) * lanes);
      for (int64_t i = 0; other && i < other_rows; ++i)
        exchange(choice, other + (i * count + j) * lanes, other + (i * count + j + 1) * lanes);
    }
}

template <class E>
uint32_t symmetric(int64_t n, E* a, Real<E>* values, E* vectors) {
  using T = Real<E>;
  constexpr int64_t lanes = kMatrices<E>;
  constexpr T kSmall = std::numeric_limits<T>::epsilon() / 16;
  const auto at = [&](int64_t i, int64_t j) { return a + (i * n + j) * lanes; };
  separate(n * n, a);
  if (vectors) set_identity(n, vectors);
  Vector<T> largest{};
  uint32_t failed = 0;
  for (int64_t p = 0; p < n; ++p)
    for (int64_t q = p; q < n; ++q) {
      if (p == q) write(at(p, p), number<E>(real_part<T>(read(at(p, p)))));
      for_parts<T>(read(at(p, q)), [&](Vector<T> x) {
        failed |= not_finite<T>(x);
        largest = greater<T>(largest, magnitude<T>(x));
      });
    }
  const Vector<T> unit = units_of<T>(largest), limit = largest / unit * kSmall;
  for (int64_t p = 0; p < n; ++p)
    for (int64_t q = p; q < n; ++q) write(at(p, q), divide<T>(read(at(p, q)), unit));
  bool is_done = false;
  for (int round = 0; round < kMostRounds && !is_done; ++round) {
    is_done = true;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const Numbers<E> found = read(at(p, q));
        const auto counts = sum_of_parts<T>(found) > limit;
        if (!any<T>(counts)) continue;
        is_done = false;
        // Lanes do not look at each other.
        const Numbers<E> beside = choose<T>(counts, found, Numbers<E>{});
        const Vector<T> first = real_part<T>(read(at(p, p)));
        const Vector<T> second = real_part<T>(read(at(q, q)));
        const Rotation<E> rotation(first, second, beside);
        write(at(p, p), number<E>(first - rotation.moved));
        write(at(q, q), number<E>(second + rotation.moved));
        write(at(p, q), found - beside);
        for (int64_t r = 0; r < n; ++r) {
          if (r != p && r != q)
            rotation.apply(r < p ? at(r, p) : at(p, r), r < q ? at(r, q) : at(q, r), r > p, r > q);
          if (vectors) rotation.apply(vectors + (r * n + p) * lanes, vectors + (r * n + q) * lanes);
        }
      }
  }
  for (int64_t i = 0; i < n; ++i) store(values + i * lanes, real_part<T>(read(at(i, i))) * unit);
  sort<true>(n, values, vectors, n, static_cast<E*>(nullptr), 0);
  if (vectors) join(n * n, vectors);
  return is_done ? failed : kAll<T>;
}

template <class E>
uint32_t singular(int64_t rows, int64_t columns, E* a, Real<E>* values, E* vectors) {
  using T = Real<E>;
  constexpr int64_t lanes = kMatrices<E>;
  // What sums are known to.
  constexpr T kSmall = (kIsComplex<E> ? 8 : 4) * std::numeric_limits<T>::epsilon();
  // Below this, squares of parts of the largest element are no numbers to divide by.
  static const T least = std::sqrt(std::numeric_limits<T>::min()) / kSmall;
  const auto at = [&](int64_t i, int64_t j) { return a + (i * columns + j) * lanes; };
  separate(rows * columns, a);
  if (vectors) set_identity(columns, vectors);
  Vector<T> largest{};
  uint32_t failed = 0;
  for (int64_t i = 0; i < rows * columns; ++i)
    for_parts<T>(read(a + i * lanes), [&](Vector<T> x) {
      failed |= not_finite<T>(x);
      largest = greater<T>(largest, magnitude<T>(x));
    });
  const Vector<T> unit = units_of<T>(largest);
  for (int64_t i = 0; i < rows * columns; ++i)
    write(a + i * lanes, divide<T>(read(a + i * lanes), unit));
  bool is_done = false;
  for (int round = 0; round < kMostRounds && !is_done; ++round) {
    is_done = true;
    for (int64_t p = 0; p < columns; ++p)
      for (int64_t q = p + 1; q < columns; ++q) {
        Vector<T> first{}, second{};
        Numbers<E> beside{};
        for (int64_t i = 0; i < rows; ++i) {
          const Numbers<E> x = read(at(i, p)), y = read(at(i, q));
          first = add_square<T>(x, first);
          second = add_square<T>(y, second);
          beside = add_product<T>(x, y, beside);
        }
        // Of columns that have vanished nothing is asked.
        const Vector<T> limit = greater<T>(root<T>(first) * root<T>(second) * kSmall,
                                           splat(std::numeric_limits<T>::min()));
        const auto counts = sum_of_parts<T>(beside) > limit;
        if (!any<T>(counts)) continue;
        is_done = false;
        const Rotation<E> rotation(first, second, choose<T>(counts, beside, Numbers<E>{}));
        for (int64_t i = 0; i < rows; ++i) rotation.apply(at(i, p), at(i, q));
        for (int64_t i = 0; vectors && i < columns; ++i)
          rotation.apply(vectors + (i * columns + p) * lanes, vectors + (i * columns + q) * lanes);
      }
  }
  for (int64_t j = 0; j < columns; ++j) {
    Vector<T> squares{};
    for (int64_t i = 0; i < rows; ++i) squares = add_square<T>(read(at(i, j)), squares);
    const Vector<T> norm = root<T>(squares);
    if (vectors) failed |= bits_of<T>(norm < least);
    for (int64_t i = 0; vectors && i < rows; ++i) write(at(i, j), divide<T>(read(at(i, j)), norm));
    store(values + j * lanes, norm * unit);
  }
  sort<false>(columns, values, vectors ? a : nullptr, rows, vectors, columns);
  if (vectors) join(rows * columns, a);
  for (int64_t i = 0; vectors && i < columns * columns; ++i)
    write(vectors + i * lanes, conjugate<T>(read(vectors + i * lanes)));
  if (vectors) join(columns * columns, vectors);
  return is_done ? failed : kAll<T>;
}

}  // namespace

template <class E>
const LaneRotations<E>& lane_rotations() {
  static constexpr LaneRotations<E> kernels{kMatrices<E>, &symmetric<E>, &singular<E>};
  return kernels;
}
template const LaneRotations<float>& lane_rotations();
template const LaneRotations<double>& lane_rotations();
template const LaneRotations<complex<float>>& lane_rotations();
template const LaneRotations<complex<double>>& lane_rotations();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
