#include "cpu/nn/attention_blocks.h"

/// Attention in blocks (T. Dao et al., FlashAttention, 2022): each row of queries keeps the largest
/// score that it has seen, and sums of exponentials and of weighted values relative to that.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// A block of queries on its way along the keys.
template <class C>
struct RunningRows {
  alignas(64) C scores[kScoreRows * kScoreStep];
  C largest[kScoreRows], sum[kScoreRows];
  std::vector<C> result;
  explicit RunningRows(int64_t values) : result(static_cast<size_t>(kScoreRows * values)) {}

  void begin() {
    std::fill_n(largest, kScoreRows, -std::numeric_limits<C>::infinity());
    std::fill_n(sum, kScoreRows, C(0));
  }
};

/// The largest of whole vectors; NaN if there is one.
template <class C>
C largest_of(const C* x, int64_t count, C largest) {
  constexpr int64_t lanes = kLanes<C>;
  C lane[lanes];
  for (int64_t k = 0; k < lanes; ++k) lane[k] = largest;
  for (int64_t j = 0; j < count; j += lanes) {
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) lane[k] = math::maximum(lane[k], x[j + k]);
  }
  for (int64_t k = 0; k < lanes; ++k) largest = math::maximum(largest, lane[k]);
  return largest;
}

/// Whole vectors of x become their exponentials, whose sum is returned.
template <class C>
C sum_of_exponentials(C* x, int64_t count, C shift) {
  constexpr int64_t lanes = kLanes<C>;
  C lane[lanes] = {};
  for (int64_t j = 0; j < count; j += lanes) {
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
      const C value = math::exp(x[j + k] - shift);
      x[j + k] = value;
      lane[k] += value;
    }
  }
  add_halves<lanes / 2>(lane);
  return lane[0];
}

/// Scores of row i become weights; the row's sums become relative to its new largest score. Columns
/// from `seen` on have no weight.
template <class C>
void weigh_row(RunningRows<C>& rows, int64_t i, int64_t seen, int64_t columns, int64_t values) {
  constexpr C kNone = -std::numeric_limits<C>::infinity();
  constexpr int64_t lanes = kLanes<C>;
  C* x = rows.scores + i * kScoreStep;
  const int64_t padded = (seen + lanes - 1) / lanes * lanes;
  std::fill(x + seen, x + padded, kNone);
  const C before = rows.largest[i], largest = largest_of(x, padded, before);
  // Of scores that are all -inf, differences would be NaN: a later block may have others.
  const C shift = largest == kNone ? C(0) : largest;
  if (!(largest == before)) {
    const C factor = math::exp(before - shift);
    C* y = rows.result.data() + i * values;
    rows.sum[i] *= factor;
#pragma omp simd
    for (int64_t j = 0; j < values; ++j) y[j] *= factor;
    rows.largest[i] = largest;
  }
  rows.sum[i] += sum_of_exponentials(x, padded, shift);
  if (padded < columns) std::fill(x + padded, x + columns, C(0));
}

template <class T>
void attend(const Tensor& result, const Tensor& logsum, const Tensor& query, const Tensor& key,
            const Tensor& value, double scale, bool is_causal) {
  using C = Compute<T>;
  const Heads heads(query, key, value, is_causal);
  const Tensor queries = dense_in<C>(query), keys = dense_in<C>(key), values = dense_in<C>(value);
  const TransposedHeads<C> transposed(keys.data<C>(), heads.count, heads.keys, heads.features);
  const int64_t blocks = heads.row_blocks(), e = heads.features, v = heads.values;
  const C *q = queries.data<C>(), *from = values.data<C>();
  T* out = result.data<T>();
  C* logsums = logsum.data<C>();
  for_rows(heads.count * blocks, kScoreRows * heads.keys, e + v, [&](int64_t begin, int64_t end) {
    const auto rows = std::make_unique<RunningRows<C>>(v);
    for (int64_t task = begin; task < end; ++task) {
      // The last blocks first: they are the longest ones where positions see none that follow.
      const int64_t head = task / blocks, first = (blocks - 1 - task % blocks) * kScoreRows;
      const int64_t count = std::min(kScoreRows, heads.queries - first);
      const int64_t place = head * heads.queries + first, limit = heads.seen(first + count - 1);
      rows->begin();
      std::fill(rows->result.begin(), rows->result.end(), C(0));
      for (int64_t c = 0; c < limit; c += kScoreColumns) {
        const int64_t columns = std::min(kScoreColumns, limit - c);
        add_product<C>(count, columns, e, {q + place * e, e, 1}, transposed.panels(head, c), 0,
                       rows->scores, kScoreStep, static_cast<C>(scale), C(0));
        for (int64_t i = 0; i < count; ++i)
          weigh_row(*rows, i, std::clamp<int64_t>(heads.seen(first + i) - c, 0, columns), columns,
                    v);
        add_product<C>(count, v, columns, {rows->scores, kScoreStep, 1},
                       from + (head * heads.keys + c) * v, v, rows->result.data(), v, C(1), C(1));
      }
      for (int64_t i = 0; i < count; ++i) {
        C* y = rows->result.data() + i * v;
        const C factor = C(1) / rows->sum[i];
        logsums[place + i] = rows->largest[i] + math::log(rows->sum[i]);
#pragma omp simd
        for (int64_t j = 0; j < v; ++j) y[j] *= factor;
        if constexpr (std::is_same_v<T, C>) {
          std::copy_n(y, v, out + (place + i) * v);
        } else {
          store_dense(out + (place + i) * v, y, v);
        }
      }
    }
  });
}

/// Rows that attend to no key: zeros over zero.
template <class T>
void attend_to_none(const Tensor& result, const Tensor& logsum) {
  using C = Compute<T>;
  std::fill_n(result.data<T>(), result.numel(), T(0));
  std::fill_n(logsum.data<C>(), logsum.numel(), -std::numeric_limits<C>::infinity());
}

}  // namespace

void attention_of_heads(const Tensor& result, const Tensor& logsum, const Tensor& query,
                        const Tensor& key, const Tensor& value, double scale, bool is_causal) {
  with_floating(query.dtype(), "scaled_dot_product_attention", [&]<class T>() {
    if (!Heads(query, key, value, is_causal).has_scores()) return attend_to_none<T>(result, logsum);
    attend<T>(result, logsum, query, key, value, scale, is_causal);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
