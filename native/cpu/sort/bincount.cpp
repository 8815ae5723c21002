#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "core/base/checked.h"
#include "core/threads/interrupt.h"
#include "cpu/blocks.h"
#include "kernels/sorting.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kPart = 1 << 16;        // elements that are worth a thread
constexpr int64_t kShortTable = 1 << 14;  // integers whose counts fit the second-level cache
constexpr int64_t kWorthTable = 1 << 10;  // elements of which two readings cost more than a table

/// The smallest and the largest of count > 0 integers.
std::pair<int64_t, int64_t> extremes(const int64_t* data, int64_t count) {
  const int64_t parts = std::clamp<int64_t>(count / kPart, 1, num_threads());
  std::vector<std::pair<int64_t, int64_t>> found(static_cast<size_t>(parts));
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = count * part / parts, last = count * (part + 1) / parts;
      int64_t least = data[first], most = data[first];
      for (int64_t i = first; i < last; ++i) {
        least = std::min(least, data[i]);
        most = std::max(most, data[i]);
      }
      found[static_cast<size_t>(part)] = {least, most};
    }
  });
  for (const auto& [least, most] : found) {
    found[0].first = std::min(found[0].first, least);
    found[0].second = std::max(found[0].second, most);
  }
  return found[0];
}

/// The counts of integers up to the largest one, if all are in a short range from 0: then one
/// reading finds which there are and how often. Each thread has a table of its own, which is
/// shorter than what it reads.
std::optional<std::vector<int64_t>> short_counts(const int64_t* data, int64_t count) {
  const int64_t range = std::min(kShortTable, count / 4);
  const int64_t parts = std::clamp<int64_t>(count / kPart, 1, num_threads());
  std::vector<int64_t> tables(static_cast<size_t>(parts * range), 0);
  std::atomic<bool> is_short = true;
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t* const table = tables.data() + part * range;
      const int64_t start = count * part / parts;
      in_blocks(count * (part + 1) / parts - start, [&](int64_t first, int64_t last) {
        if (!is_short) return;
        for (int64_t i = start + first; i < start + last; ++i) {
          const auto value = static_cast<uint64_t>(data[i]);
          if (value >= static_cast<uint64_t>(range)) return is_short.store(false);
          ++table[value];
        }
      });
    }
  });
  if (!is_short) return std::nullopt;
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t i = 0; i < range; ++i)
      tables[static_cast<size_t>(i)] += tables[static_cast<size_t>(part * range + i)];
  int64_t length = range;
  while (length > 0 && tables[static_cast<size_t>(length - 1)] == 0) --length;
  tables.resize(static_cast<size_t>(length));
  return tables;
}

/// Counts of integers in [0, length), which is what they are as long as nobody writes to them: each
/// thread has a table of its own, where these are short beside the list.
void count_into(int64_t* counts, int64_t length, const int64_t* data, int64_t count) {
  const int64_t room = count / std::max(length, kPart);
  const int64_t parts = std::clamp<int64_t>(room, 1, num_threads());
  std::vector<int64_t> others(static_cast<size_t>((parts - 1) * length), 0);
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t* const table = part == 0 ? counts : others.data() + (part - 1) * length;
      const int64_t start = count * part / parts;
      in_blocks(count * (part + 1) / parts - start, [&](int64_t first, int64_t last) {
        for (int64_t i = start + first; i < start + last; ++i) {
          check_index(data[i], length, 0, "bincount");
          ++table[data[i]];
        }
      });
    }
  });
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t i = 0; i < length; ++i)
      counts[i] += others[static_cast<size_t>((part - 1) * length + i)];
}

}  // namespace

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  const Tensor dense = dense_indices(self);
  const int64_t* const data = dense.data<int64_t>();
  const int64_t numel = dense.numel();
  int64_t length = minlength;
  if (!weights.defined() && numel >= kWorthTable) {
    if (const auto counts = short_counts(data, numel)) {
      const auto found = static_cast<int64_t>(counts->size());
      const Tensor result =
          flambeau::empty(Shape{std::max(length, found)}, DType::int64, self.device());
      fill_data(result, 0);
      std::copy(counts->begin(), counts->end(), result.data<int64_t>());
      return result;
    }
  }
  if (numel > 0) {
    const auto [least, most] = extremes(data, numel);
    check(least >= 0, ErrorKind::runtime, "bincount(): expected integers from 0, got ", least);
    length = std::max(length, checked_add(most, 1, "bincount"));
  }
  if (!weights.defined() || numel == 0) {
    const Tensor result = flambeau::empty(Shape{length}, DType::int64, self.device());
    fill_data(result, 0);
    count_into(result.data<int64_t>(), length, data, numel);
    return result;
  }
  check(weights.sizes() == self.sizes(), ErrorKind::runtime, "bincount(): weights of shape ",
        weights.sizes(), " for integers of shape ", self.sizes());
  const bool narrow = weights.dtype() == DType::float32;
  const Tensor values = contiguous_data(cast_data(weights, DType::float64));
  const Tensor result = flambeau::empty(Shape{length}, DType::float64, self.device());
  fill_data(result, 0);
  double* const sums = result.data<double>();
  for (int64_t i = 0; i < numel; ++i) {
    check_index(data[i], length, 0, "bincount");
    sums[data[i]] += values.data<double>()[i];
  }
  return narrow ? cast_data(result, DType::float32) : result;
}

}  // namespace flambeau::cpu
