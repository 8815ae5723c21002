#pragma once

#include "cpu/nn/attention_blocks.h"

/// The gradient of attention in blocks: weights are computed again from scores and their logsum.
/// Include only from *.simd.cpp files.
namespace flambeau::cpu::FLAMBEAU_ISA {

/// Factors in a form, and the results.
template <class T, class Form>
struct Backward {
  using C = Compute<T>;
  Heads heads;
  C scale;
  const typename Form::Element *grad, *query;
  const C *logsum, *moment;
  /// What scores, gradients of weights and the three results are products with.
  const typename Form::Transposed &keys, &values;
  const typename Form::Straight &of_key, &of_query, &of_grad;
  T *query_grad, *key_grad, *value_grad;
};

/// Rows of a result, which are sums over blocks in the type that is computed in.
template <class T>
class SummedRows {
 public:
  using C = Compute<T>;
  explicit SummedRows(int64_t most) : buffer_(most) {}
  C* begin(T* rows, int64_t count) {
    rows_ = rows, count_ = count;
    C* const sums = buffer_.target(rows);
    std::fill_n(sums, count, C(0));
    return sums;
  }
  void finish() const { buffer_.store(rows_, count_); }

 private:
  RowBuffer<T> buffer_;
  T* rows_ = nullptr;
  int64_t count_ = 0;
};

/// A block of weights and of the gradients of their scores, and what they are added to.
template <class T, class Form>
struct Work {
  using C = Compute<T>;
  alignas(64) C weights[kScoreRows * kScoreStep];
  alignas(64) C grads[kScoreRows * kScoreStep];
  typename Form::Block factor;
  SummedRows<T> query_grad, key_grad, value_grad;
  Work(const Heads& heads, int64_t rows)
      : query_grad(rows * heads.features),
        key_grad(kScoreColumns * heads.features),
        value_grad(kScoreColumns * heads.values) {}
};

/// Where a block's contributions are added: to the gradient of queries, to those of keys and
/// values, or to all; the others are null.
template <class C>
struct Sums {
  C *query, *key, *value;
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
      weights[k] = exponential(weights[k] - logsum);
      grads[k] = weights[k] * (grads[k] - moment);
    }
  }
  if (padded >= columns) return;
  std::fill(weights + padded, weights + columns, C(0));
  std::fill(grads + padded, grads + columns, C(0));
}

/// Adds what one block of scores contributes.
template <class T, class Form>
void add_block(const Backward<T, Form>& run, Work<T, Form>& work, int64_t head, int64_t first,
               int64_t c, const Sums<Compute<T>>& sums) {
  using C = Compute<T>;
  const Heads& heads = run.heads;
  const int64_t e = heads.features, v = heads.values, step = kScoreStep;
  const int64_t rows = std::min(kScoreRows, heads.queries - first);
  const int64_t columns = std::min(kScoreColumns, heads.seen(first + rows - 1) - c);
  if (columns <= 0) return;
  const int64_t row = head * heads.queries + first;
  Form::add_product(rows, columns, elements_of<Form>(e), Form::rows(run.query + row * e, e),
                    run.keys.from(head, c), work.weights, step, run.scale, C(0));
  Form::add_product(rows, columns, elements_of<Form>(v), Form::rows(run.grad + row * v, v),
                    run.values.from(head, c), work.grads, step, C(1), C(0));
  for (int64_t i = 0; i < rows; ++i)
    differentiate_row(work.weights + i * step, work.grads + i * step,
                      std::clamp<int64_t>(heads.seen(first + i) - c, 0, columns), columns,
                      run.logsum[row + i], run.moment[row + i]);
  typename Form::Block& factor = work.factor;
  if (sums.query) {
    factor.take_rows(work.grads, rows, columns);
    Form::add_product(rows, e, elements_of<Form>(columns), factor.rows(), run.of_key.from(head, c),
                      sums.query, e, run.scale, C(1));
  }
  if (!sums.key) return;
  factor.take_columns(work.weights, rows, columns);
  Form::add_product(columns, v, elements_of<Form>(rows), factor.columns(),
                    run.of_grad.from(head, first), sums.value, v, C(1), C(1));
  factor.take_columns(work.grads, rows, columns);
  Form::add_product(columns, e, elements_of<Form>(rows), factor.columns(),
                    run.of_query.from(head, first), sums.key, e, run.scale, C(1));
}

/// The gradients of a block of keys and values; `to_query`: that of the head's queries, or null.
template <class T, class Form>
void sum_columns(const Backward<T, Form>& run, Work<T, Form>& work, int64_t head, int64_t c,
                 Compute<T>* to_query) {
  const Heads& heads = run.heads;
  const int64_t e = heads.features, v = heads.values, column = head * heads.keys + c;
  const int64_t columns = std::min(kScoreColumns, heads.keys - c);
  Compute<T>* const to_key = work.key_grad.begin(run.key_grad + column * e, columns * e);
  Compute<T>* const to_value = work.value_grad.begin(run.value_grad + column * v, columns * v);
  // The first block of rows that sees column c.
  for (int64_t first = heads.is_causal ? c / kScoreRows * kScoreRows : 0; first < heads.queries;
       first += kScoreRows)
    add_block(run, work, head, first, c,
              {to_query ? to_query + first * e : nullptr, to_key, to_value});
  work.key_grad.finish();
  work.value_grad.finish();
}

/// A task for each head or, where there are fewer than threads, for each block of rows and then for
/// each block of columns, which computes weights twice. Sums have one order in both.
template <class T, class Form>
void sum_blocks(const Backward<T, Form>& run) {
  using Own = Work<T, Form>;
  const Heads& heads = run.heads;
  const int64_t e = heads.features, cost = 2 * e + 2 * heads.values;
  if (heads.count >= num_threads()) {
    for_rows(heads.count, heads.queries * heads.keys, cost, [&](int64_t begin, int64_t end) {
      [[maybe_unused]] const typename Form::Session session;
      const auto work = std::make_unique<Own>(heads, heads.queries);
      for (int64_t head = begin; head < end; ++head) {
        Compute<T>* const to_query =
            work->query_grad.begin(run.query_grad + head * heads.queries * e, heads.queries * e);
        for (int64_t c = 0; c < heads.keys; c += kScoreColumns)
          sum_columns(run, *work, head, c, to_query);
        work->query_grad.finish();
      }
    });
    return;
  }
  const int64_t rows = heads.row_blocks(), columns = heads.column_blocks();
  for_rows(heads.count * rows, kScoreRows * heads.keys, cost, [&](int64_t begin, int64_t end) {
    [[maybe_unused]] const typename Form::Session session;
    const auto work = std::make_unique<Own>(heads, kScoreRows);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / rows, first = i % rows * kScoreRows;
      const int64_t count = std::min(kScoreRows, heads.queries - first);
      Compute<T>* const to_query =
          work->query_grad.begin(run.query_grad + (head * heads.queries + first) * e, count * e);
      for (int64_t c = 0; c < heads.keys; c += kScoreColumns)
        add_block(run, *work, head, first, c, {to_query, nullptr, nullptr});
      work->query_grad.finish();
    }
  });
  for_rows(heads.count * columns, kScoreColumns * heads.queries, cost,
           [&](int64_t begin, int64_t end) {
             [[maybe_unused]] const typename Form::Session session;
             const auto work = std::make_unique<Own>(heads, 0);
             for (int64_t i = begin; i < end; ++i)
               sum_columns<T, Form>(run, *work, i / columns, i % columns * kScoreColumns, nullptr);
           });
}

/// Gradients of type T, computed of factors of a form.
template <class T, class Form>
void differentiate(const Tensor& query_grad, const Tensor& key_grad, const Tensor& value_grad,
                   const Tensor& grad_output, const Tensor& query, const Tensor& key,
                   const Tensor& value, const Tensor& logsum, const Tensor& moment, double scale,
                   bool is_causal) {
  using C = Compute<T>;
  using Element = typename Form::Element;
  const Heads heads(query, key, value, is_causal);
  if (!heads.has_scores()) {
    for (const Tensor& grad : {query_grad, key_grad, value_grad})
      std::fill_n(grad.data<T>(), grad.numel(), T(0));
    return;
  }
  const Tensor grads = dense_in<Element>(grad_output), queries = dense_in<Element>(query);
  const Tensor keys = dense_in<Element>(key), values = dense_in<Element>(value);
  const Tensor logsums = dense_in<C>(logsum), moments = dense_in<C>(moment);
  const auto *g = grads.data<Element>(), *q = queries.data<Element>();
  const auto *k = keys.data<Element>(), *v = values.data<Element>();
  const typename Form::Transposed by_key(k, heads.count, heads.keys, heads.features);
  const typename Form::Transposed by_value(v, heads.count, heads.keys, heads.values);
  const typename Form::Straight of_key(k, heads.count, heads.keys, heads.features);
  const typename Form::Straight of_query(q, heads.count, heads.queries, heads.features);
  const typename Form::Straight of_grad(g, heads.count, heads.queries, heads.values);
  sum_blocks(Backward<T, Form>{heads, static_cast<C>(scale), g, q, logsums.data<C>(),
                               moments.data<C>(), by_key, by_value, of_key, of_query, of_grad,
                               query_grad.data<T>(), key_grad.data<T>(), value_grad.data<T>()});
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
