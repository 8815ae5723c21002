#pragma once

#include "cpu/math.h"
#include "cpu/nn/attention_blocks.h"

#include "core/math/exponentials.h"

/// Attention in blocks (T. Dao et al., FlashAttention, 2022): each row of queries keeps the largest
/// score that it has seen, and sums of exponentials and of weighted values relative to that.
/// Include only from *.simd.cpp files.
namespace flambeau::cpu::FLAMBEAU_ISA {

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

/// The larger one in each lane; NaN if there is one.
template <class C>
Vector<C> larger(Vector<C> a, Vector<C> b) {
  return (a >= b) | (a != a) ? a : b;
}

/// The largest in each lane of whole vectors.
template <class C>
Vector<C> largest_in_lanes(const C* x, int64_t count) {
  Vector<C> largest = splat(-std::numeric_limits<C>::infinity());
  for (int64_t j = 0; j < count; j += kLanes<C>) largest = larger<C>(load(x + j), largest);
  return largest;
}

/// Whole vectors of x become their exponentials, whose sums in each lane are returned.
template <class C>
Vector<C> exponentials_in_lanes(C* x, int64_t count, C shift) {
  constexpr int64_t lanes = kLanes<C>;
  alignas(64) C lane[lanes] = {};
  for (int64_t j = 0; j < count; j += lanes) {
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
      const C value = exponential(x[j + k] - shift);
      x[j + k] = value;
      lane[k] += value;
    }
  }
  return load(lane);
}

/// Scores of some rows become weights; the rows' sums become relative to their new largest scores.
/// Columns from `seen(i)` on have no weight in row i. As many rows as a vector has lanes are taken
/// together, since what joins the lanes of one takes longer than its exponentials.
template <class C, class Seen>
void weigh_rows(RunningRows<C>& rows, int64_t count, int64_t columns, int64_t values,
                const Seen& seen) {
  constexpr C kNone = -std::numeric_limits<C>::infinity();
  constexpr int64_t lanes = kLanes<C>;
  static_assert(kScoreRows % lanes == 0);
  const auto padded = [&](int64_t i) { return (seen(i) + lanes - 1) / lanes * lanes; };
  for (int64_t first = 0; first < count; first += lanes) {
    const int64_t members = std::min(lanes, count - first);
    Vector<C> found[lanes];
    for (int64_t r = 0; r < lanes; ++r) {
      found[r] = splat(kNone);
      if (r >= members) continue;
      C* const x = rows.scores + (first + r) * kScoreStep;
      const int64_t end = padded(first + r);
      std::fill(x + seen(first + r), x + end, kNone);
      found[r] = largest_in_lanes(x, end);
    }
    const Vector<C> before = load(rows.largest + first);
    const Vector<C> largest = larger<C>(across_lanes<C>(found, &larger<C>), before);
    store(rows.largest + first, largest);
    // Of scores that are all -inf, differences would be NaN: a later block may have others.
    alignas(64) C shift[lanes], factor[lanes];
    store(shift, largest == splat(kNone) ? Vector<C>{} : largest);
    store(factor, before);
#pragma omp simd
    for (int64_t r = 0; r < lanes; ++r) factor[r] = exponential(factor[r] - shift[r]);
    for (int64_t r = 0; r < members; ++r) {
      C* const x = rows.scores + (first + r) * kScoreStep;
      const int64_t end = padded(first + r);
      found[r] = exponentials_in_lanes(x, end, shift[r]);
      if (end < columns) std::fill(x + end, x + columns, C(0));
      if (factor[r] == C(1)) continue;
      C* const y = rows.result.data() + (first + r) * values;
#pragma omp simd
      for (int64_t j = 0; j < values; ++j) y[j] *= factor[r];
    }
    const Vector<C> sum = across_lanes<C>(found, [](Vector<C> a, Vector<C> b) { return a + b; });
    store(rows.sum + first, load(rows.sum + first) * load(factor) + sum);
  }
}

/// Results of type T, computed of factors of a form.
template <class T, class Form>
void attend(const Tensor& result, const Tensor& logsum, const Tensor& query, const Tensor& key,
            const Tensor& value, double scale, bool is_causal) {
  using C = Compute<T>;
  using Element = typename Form::Element;
  const Heads heads(query, key, value, is_causal);
  const Tensor queries = dense_in<Element>(query), keys = dense_in<Element>(key),
               values = dense_in<Element>(value);
  const int64_t blocks = heads.row_blocks(), e = heads.features, v = heads.values;
  const typename Form::Transposed by_key(keys.data<Element>(), heads.count, heads.keys, e);
  const typename Form::Straight by_value(values.data<Element>(), heads.count, heads.keys, v);
  const Element* const q = queries.data<Element>();
  T* out = result.data<T>();
  C* logsums = logsum.data<C>();
  for_rows(heads.count * blocks, kScoreRows * heads.keys, e + v, [&](int64_t begin, int64_t end) {
    [[maybe_unused]] const typename Form::Session session;
    const auto rows = std::make_unique<RunningRows<C>>(v);
    const auto weights = std::make_unique<typename Form::Block>();
    for (int64_t task = begin; task < end; ++task) {
      // The last blocks first: they are the longest ones where positions see none that follow.
      const int64_t head = task / blocks, first = (blocks - 1 - task % blocks) * kScoreRows;
      const int64_t count = std::min(kScoreRows, heads.queries - first);
      const int64_t place = head * heads.queries + first, limit = heads.seen(first + count - 1);
      rows->begin();
      std::fill(rows->result.begin(), rows->result.end(), C(0));
      for (int64_t c = 0; c < limit; c += kScoreColumns) {
        const int64_t columns = std::min(kScoreColumns, limit - c);
        Form::add_product(count, columns, elements_of<Form>(e), Form::rows(q + place * e, e),
                          by_key.from(head, c), rows->scores, kScoreStep, static_cast<C>(scale),
                          C(0));
        weigh_rows(*rows, count, columns, v, [&](int64_t i) {
          return std::clamp<int64_t>(heads.seen(first + i) - c, 0, columns);
        });
        weights->take_rows(rows->scores, count, columns);
        Form::add_product(count, v, elements_of<Form>(columns), weights->rows(),
                          by_value.from(head, c), rows->result.data(), v, C(1), C(1));
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

}  // namespace flambeau::cpu::FLAMBEAU_ISA
