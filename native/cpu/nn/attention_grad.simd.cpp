#include "cpu/nn/attention_blocks.h"

/// The gradient of attention in blocks: weights are computed again from scores and their logsum.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Everything in the type that is computed in; the gradients are sums over blocks.
template <class C>
struct Backward {
  Heads heads;
  C scale;
  const C *grad, *query, *key, *value, *logsum, *moment;
  const TransposedHeads<C>&keys, &values;
  C *query_grad, *key_grad, *value_grad;
};

/// A block of weights and of the gradients of their scores.
template <class C>
struct Block {
  alignas(64) C weights[kScoreRows * kScoreStep];
  alignas(64) C grads[kScoreRows * kScoreStep];
};

/// One row: scores become weights, the gradients of weights those of scores.
template <class C>
void differentiate_row(C* weights, C* grads, int64_t seen, int64_t columns, C logsum, C moment) {
  constexpr int64_t lanes = kLanes<C>;
  const int64_t padded = (seen + lanes - 1) / lanes * lanes;
  std::fill(weights + seen, weights + padded, -std::numeric_limits<C>::infinity());
  std::fill(grads + seen, grads + padded, C(0));
  for (int64_t j = 0; j < padded; j += lanes) {
#pragma omp simd
    for (int64_t k = j; k < j + lanes; ++k) {
      weights[k] = math::exp(weights[k] - logsum);
      grads[k] = weights[k] * (grads[k] - moment);
    }
  }
  if (padded >= columns) return;
  std::fill(weights + padded, weights + columns, C(0));
  std::fill(grads + padded, grads + columns, C(0));
}

/// Adds what one block of scores contributes: to the gradient of queries, to those of keys and
/// values, or to all.
template <class C>
void add_block(const Backward<C>& run, Block<C>& block, int64_t head, int64_t first, int64_t c,
               bool of_queries, bool of_keys) {
  const Heads& heads = run.heads;
  const int64_t e = heads.features, v = heads.values, step = kScoreStep;
  const int64_t rows = std::min(kScoreRows, heads.queries - first);
  const int64_t columns = std::min(kScoreColumns, heads.seen(first + rows - 1) - c);
  if (columns <= 0) return;
  const int64_t row = head * heads.queries + first, column = head * heads.keys + c;
  add_product<C>(rows, columns, e, {run.query + row * e, e, 1}, run.keys.panels(head, c), 0,
                 block.weights, step, run.scale, C(0));
  add_product<C>(rows, columns, v, {run.grad + row * v, v, 1}, run.values.panels(head, c), 0,
                 block.grads, step, C(1), C(0));
  for (int64_t i = 0; i < rows; ++i)
    differentiate_row(block.weights + i * step, block.grads + i * step,
                      std::clamp<int64_t>(heads.seen(first + i) - c, 0, columns), columns,
                      run.logsum[row + i], run.moment[row + i]);
  if (of_queries)
    add_product<C>(rows, e, columns, {block.grads, step, 1}, run.key + column * e, e,
                   run.query_grad + row * e, e, run.scale, C(1));
  if (!of_keys) return;
  add_product<C>(columns, v, rows, {block.weights, 1, step}, run.grad + row * v, v,
                 run.value_grad + column * v, v, C(1), C(1));
  add_product<C>(columns, e, rows, {block.grads, 1, step}, run.query + row * e, e,
                 run.key_grad + column * e, e, run.scale, C(1));
}

/// The first block of rows that sees column c.
inline int64_t first_row(const Heads& heads, int64_t c) {
  return heads.is_causal ? c / kScoreRows * kScoreRows : 0;
}

/// A task for each head or, where there are fewer than threads, for each block of rows and then for
/// each block of columns, which computes weights twice. Sums have one order in both.
template <class C>
void add_blocks(const Backward<C>& run) {
  const Heads& heads = run.heads;
  const int64_t cost = 2 * heads.features + 2 * heads.values;
  const auto of_column = [&](Block<C>& block, int64_t head, int64_t c, bool of_queries) {
    for (int64_t first = first_row(heads, c); first < heads.queries; first += kScoreRows)
      add_block(run, block, head, first, c, of_queries, true);
  };
  if (heads.count >= num_threads()) {
    for_rows(heads.count, heads.queries * heads.keys, cost, [&](int64_t begin, int64_t end) {
      const auto block = std::make_unique<Block<C>>();
      for (int64_t head = begin; head < end; ++head)
        for (int64_t c = 0; c < heads.keys; c += kScoreColumns) of_column(*block, head, c, true);
    });
    return;
  }
  const int64_t rows = heads.row_blocks(), columns = heads.column_blocks();
  for_rows(heads.count * rows, kScoreRows * heads.keys, cost, [&](int64_t begin, int64_t end) {
    const auto block = std::make_unique<Block<C>>();
    for (int64_t i = begin; i < end; ++i)
      for (int64_t c = 0; c < heads.keys; c += kScoreColumns)
        add_block(run, *block, i / rows, i % rows * kScoreRows, c, true, false);
  });
  for_rows(heads.count * columns, kScoreColumns * heads.queries, cost,
           [&](int64_t begin, int64_t end) {
             const auto block = std::make_unique<Block<C>>();
             for (int64_t i = begin; i < end; ++i)
               of_column(*block, i / columns, i % columns * kScoreColumns, false);
           });
}

/// Sums in the type that is computed in: the result itself, or memory that is rounded to it.
template <class T>
class Sums {
 public:
  using C = Compute<T>;
  explicit Sums(const Tensor& result)
      : result_(result), sums_(std::is_same_v<T, C> ? result : empty(result.sizes(), dtype_of<C>)) {
    std::fill_n(data(), sums_.numel(), C(0));
  }
  C* data() const { return sums_.template data<C>(); }
  void finish() const {
    if constexpr (!std::is_same_v<T, C>) {
      T* to = result_.template data<T>();
      const C* from = data();
      for_rows(sums_.numel(), 1, 1, [=](int64_t begin, int64_t end) {
        store_dense(to + begin, from + begin, end - begin);
      });
    }
  }

 private:
  Tensor result_, sums_;
};

template <class T>
void backward(const Tensor& query_grad, const Tensor& key_grad, const Tensor& value_grad,
              const Tensor& grad_output, const Tensor& query, const Tensor& key,
              const Tensor& value, const Tensor& logsum, const Tensor& moment, double scale,
              bool is_causal) {
  using C = Compute<T>;
  const Heads heads(query, key, value, is_causal);
  const Sums<T> to_query(query_grad), to_key(key_grad), to_value(value_grad);
  if (heads.has_scores()) {
    const Tensor grads = dense_in<C>(grad_output), queries = dense_in<C>(query);
    const Tensor keys = dense_in<C>(key), values = dense_in<C>(value);
    const Tensor logsums = dense_in<C>(logsum), moments = dense_in<C>(moment);
    const TransposedHeads<C> key_panels(keys.data<C>(), heads.count, heads.keys, heads.features);
    const TransposedHeads<C> value_panels(values.data<C>(), heads.count, heads.keys, heads.values);
    add_blocks(Backward<C>{heads, static_cast<C>(scale), grads.data<C>(), queries.data<C>(),
                           keys.data<C>(), values.data<C>(), logsums.data<C>(), moments.data<C>(),
                           key_panels, value_panels, to_query.data(), to_key.data(),
                           to_value.data()});
  }
  to_query.finish();
  to_key.finish();
  to_value.finish();
}

}  // namespace

void attention_of_heads_grad(const Tensor& query_grad, const Tensor& key_grad,
                             const Tensor& value_grad, const Tensor& grad_output,
                             const Tensor& query, const Tensor& key, const Tensor& value,
                             const Tensor& logsum, const Tensor& moment, double scale,
                             bool is_causal) {
  with_floating(query.dtype(), "scaled_dot_product_attention", [&]<class T>() {
    backward<T>(query_grad, key_grad, value_grad, grad_output, query, key, value, logsum, moment,
                scale, is_causal);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
