#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random/generator.h"
#include "core/threads/parallel.h"
#include "cpu/dtype_switch.h"
#include "kernels/random.h"

namespace flambeau::cpu {
namespace {

double draw(const RandomStream& stream, int64_t i) {
  const RandomWords words = random_words(stream, static_cast<uint64_t>(i), 0);
  return uniform_double(words.word[0], words.word[1]);
}

/// Running sums of the weights; checks them.
void accumulate(const std::vector<double>& weights, std::vector<double>& sums) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    check(weights[i] >= 0 && std::isfinite(weights[i]), ErrorKind::runtime,
          "multinomial(): weights must be finite and not negative, got ", weights[i]);
    sums[i] = sum += weights[i];
  }
  check(sum > 0, ErrorKind::runtime, "multinomial(): the weights of a row sum to ", sum,
        ", expected a positive sum");
}

/// The first index whose running sum exceeds the drawn fraction of the total.
size_t pick(const std::vector<double>& weights, const std::vector<double>& sums, double fraction) {
  const auto found = std::upper_bound(sums.begin(), sums.end(), fraction * sums.back());
  size_t index = std::min(static_cast<size_t>(found - sums.begin()), sums.size() - 1);
  while (index > 0 && weights[index] == 0) --index;  // rounding at the very end
  return index;
}

/// Without replacement: the `samples` largest of log(uniform) / weight (P. Efraimidis, P. Spirakis,
/// "Weighted random sampling with a reservoir", 2006), in order. The smallest of those kept so far
/// is in front; most others are seen to be smaller without a logarithm, as log(1 - u) <= -u.
void pick_distinct(const std::vector<double>& weights, const RandomStream& stream, int64_t row,
                   int64_t samples, int64_t* out) {
  using Key = std::pair<double, int64_t>;
  std::vector<Key> kept;
  kept.reserve(static_cast<size_t>(samples));
  const auto is_full = [&] { return static_cast<int64_t>(kept.size()) == samples; };
  const int64_t n = static_cast<int64_t>(weights.size());
  for (int64_t i = 0; i < n; ++i) {
    const double weight = weights[static_cast<size_t>(i)];
    if (weight == 0) continue;
    const double uniform = draw(stream, row * n + i);
    if (is_full() && -uniform / weight < kept.front().first) continue;
    const Key key{std::log1p(-uniform) / weight, i};
    if (is_full()) {
      if (key < kept.front()) continue;
      std::pop_heap(kept.begin(), kept.end(), std::greater<>());
      kept.pop_back();
    }
    kept.push_back(key);
    std::push_heap(kept.begin(), kept.end(), std::greater<>());
  }
  check(is_full(), ErrorKind::runtime, "multinomial(): cannot draw ", samples,
        " samples without replacement from ", kept.size(), " categories of positive weight");
  std::sort_heap(kept.begin(), kept.end(), std::greater<>());
  for (int64_t i = 0; i < samples; ++i) out[i] = kept[static_cast<size_t>(i)].second;
}

}  // namespace

void multinomial(const Tensor& result, const Tensor& self, int64_t num_samples, bool replacement,
                 Generator* generator) {
  const int64_t n = self.size(-1), rows = n == 0 ? 0 : self.numel() / n;
  const Tensor dense = contiguous_data(cast_data(self, DType::float64));
  const int64_t draws = rows * (replacement ? num_samples : n);
  const RandomStream stream = generator_or_default(generator).reserve(static_cast<uint64_t>(draws));
  int64_t* const out = result.data<int64_t>();
  const int64_t grain = std::max<int64_t>(1, kGrain / 16 / std::max<int64_t>(1, n));
  parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> weights(static_cast<size_t>(n)), sums(static_cast<size_t>(n));
    for (int64_t row = begin; row < end; ++row) {
      std::copy_n(dense.data<double>() + row * n, n, weights.begin());
      accumulate(weights, sums);
      int64_t* const indices = out + row * num_samples;
      if (!replacement) {
        pick_distinct(weights, stream, row, num_samples, indices);
        continue;
      }
      for (int64_t i = 0; i < num_samples; ++i)
        indices[i] = static_cast<int64_t>(pick(weights, sums, draw(stream, row * num_samples + i)));
    }
  });
}

}  // namespace flambeau::cpu
