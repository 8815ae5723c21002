/// Loops over elements that begin runs, against plain loops.

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "check.h"
#include "core/random/random.h"
#include "core/types/element_types.h"
#include "cpu/sort/run_kernels.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// What stands behind the results, which nobody may write.
constexpr int kBehind = 99;

template <class T>
std::vector<T> elements(int64_t length, uint32_t distinct) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> row(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const RandomWords words = random_words({5, 0}, static_cast<uint64_t>(i), 0);
    T& element = row[static_cast<size_t>(i)];
    element = static_cast<T>(words.word[0] % distinct);
    if (Limits::has_quiet_NaN && words.word[1] % 5 == 0) element = Limits::quiet_NaN();
    if (Limits::has_quiet_NaN && words.word[1] % 5 == 1) element = static_cast<T>(-0.0);
  }
  return row;
}

template <class T>
bool finds_runs(const std::vector<T>& row, int64_t begin, int64_t end) {
  std::vector<T> wanted;
  std::vector<int64_t> starts, runs;
  const int64_t before = 7;
  for (int64_t i = begin; i < end; ++i) {
    const size_t at = static_cast<size_t>(i);
    if (i == 0 || !(row[at - 1] == row[at])) {
      wanted.push_back(row[at]);
      starts.push_back(i);
    }
    runs.push_back(before + static_cast<int64_t>(wanted.size()) - 1);
  }
  const auto& kernels = run_kernels<T>();
  const auto count = static_cast<int64_t>(wanted.size());
  std::vector<T> found(wanted.size() + 1, T(kBehind));
  std::vector<int64_t> places(static_cast<size_t>(before + count + 1), kBehind);
  std::vector<int64_t> run_of(static_cast<size_t>(end + 1), kBehind);
  if (kernels.count(row.data(), begin, end) != count) return false;
  kernels.values(found.data(), count, row.data(), begin, end);
  kernels.places(run_of.data(), places.data(), before, before + count, row.data(), begin, end);
  const bool same_values =
      count == 0 || memcmp(found.data(), wanted.data(), wanted.size() * sizeof(T)) == 0;
  return same_values && found.back() == T(kBehind) && places.back() == kBehind &&
         std::equal(starts.begin(), starts.end(), places.begin() + before) &&
         std::equal(runs.begin(), runs.end(), run_of.begin() + begin) && run_of.back() == kBehind;
}

template <class T>
void check_type() {
  for (const uint32_t distinct : {1u, 2u, 100u}) {
    const std::vector<T> row = elements<T>(300, distinct);
    for (const int64_t begin : {0, 1, 37})
      for (int64_t end = begin; end <= 300; ++end) CHECK(finds_runs(row, begin, end));
  }
}

TEST(runs_of_numbers) {
  check_type<float>();
  check_type<double>();
  check_type<int32_t>();
  check_type<int64_t>();
  check_type<uint8_t>();
  check_type<int16_t>();
}

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
