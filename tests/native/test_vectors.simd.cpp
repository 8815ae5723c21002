// Masks of every kind against loops over their lanes, squares that are turned, and panels whose
// lines are stored over what follows them.

#include <algorithm>
#include <vector>

#include "check.h"
#include "cpu/linalg/pack.h"
#include "draws.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

using testing::random_values;

template <class T>
void check_masks() {
  constexpr int lanes = kLanes<T>;
  const std::vector<T> source = random_values<T>(lanes);
  for (int first = 0; first < lanes; ++first)
    for (int count = 0; first + count <= lanes; ++count) {
      const Mask<T> mask(count, first);
      const Vector<T> loaded = mask.load(source.data());
      std::vector<T> stored(static_cast<size_t>(lanes), T(77));
      mask.store(stored.data(), load(source.data()));
      for (int i = 0; i < lanes; ++i) {
        const bool held = i >= first && i < first + count;
        const T value = source[static_cast<size_t>(i)];
        CHECK(loaded[i] == (held ? value : T(0)));
        CHECK(stored[static_cast<size_t>(i)] == (held ? value : T(77)));
      }
    }
}

template <class T>
void check_squares() {
  constexpr int lanes = kLanes<T>;
  const std::vector<T> values = random_values<T>(lanes * lanes);
  Vector<T> rows[lanes];
  for (int i = 0; i < lanes; ++i) rows[i] = load(values.data() + i * lanes);
  transpose_square<T>(rows);
  for (int i = 0; i < lanes; ++i)
    for (int j = 0; j < lanes; ++j) CHECK(rows[i][j] == values[static_cast<size_t>(j * lanes + i)]);
}

/// Any width of panels, whole or with missing lines, from rows or from columns.
template <class T>
void check_panels() {
  for (int64_t width = 1; width <= 2 * kLanes<T>; ++width)
    for (int64_t count = std::max<int64_t>(1, width - 2); count <= width; ++count)
      for (const int64_t depth : {1, 2, 3, 7, 8, 17}) {
        const std::vector<T> source = random_values<T>(count * depth);
        for (const bool by_rows : {true, false}) {
          const int64_t line = by_rows ? depth : 1, step = by_rows ? 1 : count;
          std::vector<T> packed(static_cast<size_t>(width * depth + 1), T(77));
          pack_lines(source.data(), line, step, count, depth, packed.data(), width);
          CHECK(packed.back() == T(77));
          for (int64_t p = 0; p < depth; ++p)
            for (int64_t i = 0; i < count; ++i)
              CHECK(packed[static_cast<size_t>(p * width + i)] ==
                    source[static_cast<size_t>(i * line + p * step)]);
        }
      }
}

TEST(masks) {
  check_masks<float>();
  check_masks<double>();
}

TEST(squares) {
  check_squares<float>();
  check_squares<double>();
}

TEST(panels) {
  check_panels<float>();
  check_panels<double>();
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
