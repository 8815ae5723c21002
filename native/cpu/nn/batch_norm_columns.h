#pragma once

/// Batch normalization of [batch, channels, 1], as fully connected layers have it: a channel is a
/// column, and some columns are worked on together, all of whose elements stay in the second-level
/// cache from pass to pass.

#include "cpu/nn/batch_norm_channels.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {
namespace batch_norm_columns {

constexpr int64_t kMostColumns = 256;

/// Calls body(first column, columns) for blocks of columns, on several threads.
template <class C, class Body>
void for_blocks(const Images& images, int64_t cost, const Body& body) {
  constexpr int64_t kBytes = 512 * 1024, kLine = 64 / static_cast<int64_t>(sizeof(C));
  const int64_t near =
      kBytes / (std::max<int64_t>(1, images.batch) * static_cast<int64_t>(sizeof(C)));
  const int64_t each = (images.channels + num_threads() - 1) / num_threads();
  const int64_t width =
      std::clamp((std::min(near, each) + kLine - 1) / kLine, int64_t{1}, kMostColumns / kLine) *
      kLine;
  for_rows((images.channels + width - 1) / width, images.batch * width, cost,
           [&](int64_t begin, int64_t end) {
             for (int64_t first = begin * width; first < end * width; first += width)
               if (first < images.channels) body(first, std::min(width, images.channels - first));
           });
}

/// Leaves in `sums` what add(row, sums) adds for every row, a few rows at a time, then in pairs of
/// equal weight.
template <int64_t count, class C, class Add>
void sum_rows(int64_t begin, int64_t end, C (&sums)[count], const Add& add) {
  constexpr int64_t kFewRows = 32;
  if (end - begin <= kFewRows) {
    std::fill_n(sums, count, C(0));
    for (int64_t r = begin; r < end; ++r) add(r, sums);
    return;
  }
  const int64_t middle = begin + (end - begin) / 2;
  C others[count];
  sum_rows(begin, middle, sums, add);
  sum_rows(middle, end, others, add);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) sums[i] += others[i];
}

template <class T>
void forward(const Tensor& result, const Tensor& average, const Tensor& rstd, const Tensor& input,
             const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
             const Tensor& running_var, double momentum, double eps) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input);
  const T* in = dense.data<T>();
  T* out = result.data<T>();
  Statistics<C> statistics(images, average, rstd, weight, bias, eps);
  for_blocks<C>(images, 3, [&](int64_t first, int64_t columns) {
    RowBuffer<T> buffer(columns), target(columns);
    C mean[kMostColumns], squares[kMostColumns], factor[kMostColumns], shift[kMostColumns];
    sum_rows(0, images.batch, mean, [&](int64_t r, C* sums) {
      const C* x = buffer.load(in + images.run(r, first), columns);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) sums[c] += x[c];
    });
    for (int64_t c = 0; c < columns; ++c) mean[c] /= statistics.count();
    sum_rows(0, images.batch, squares, [&](int64_t r, C* sums) {
      const C* x = buffer.load(in + images.run(r, first), columns);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) sums[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
    });
    for (int64_t c = 0; c < columns; ++c)
      statistics.set(first + c, mean[c], squares[c], factor[c], shift[c]);
    for (int64_t r = 0; r < images.batch; ++r) {
      const int64_t place = images.run(r, first);
      const C* x = buffer.load(in + place, columns);
      C* y = target.target(out + place);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) y[c] = (x[c] - mean[c]) * factor[c] + shift[c];
      target.store(out + place, columns);
    }
  });
  statistics.update_running(running_mean, running_var, momentum);
}

/// The gradient and the input of a call, seen as rows.
template <class T>
struct Rows {
  using C = Compute<T>;
  Images images;
  Tensor dense, dense_grad;
  ChannelValues<C> averages, rstds;
  Rows(const Tensor& grad_output, const Tensor& input, const Tensor& average, const Tensor& rstd)
      : images(input),
        dense(contiguous_data(input)),
        dense_grad(contiguous_data(grad_output)),
        averages(average, images.channels),
        rstds(rstd, images.channels) {}

  /// The two of one row of some columns, through buffers where they are halves.
  class Reader {
   public:
    Reader(const Rows& rows, int64_t first, int64_t columns)
        : rows_(rows), first_(first), columns_(columns), inputs_(columns), grads_(columns) {}
    const C* input(int64_t r) {
      return inputs_.load(rows_.dense.template data<T>() + rows_.images.run(r, first_), columns_);
    }
    const C* grad(int64_t r) {
      return grads_.load(rows_.dense_grad.template data<T>() + rows_.images.run(r, first_),
                         columns_);
    }
    /// sum(grad), and kMostColumns further sum(grad (x - mean)).
    void sum(const C* mean, C (&sums)[2 * kMostColumns]) {
      const int64_t columns = columns_;
      sum_rows(0, rows_.images.batch, sums, [&](int64_t r, C* total) {
        const C *x = input(r), *g = grad(r);
        C* const product = total + kMostColumns;
#pragma omp simd
        for (int64_t c = 0; c < columns; ++c) {
          total[c] += g[c];
          product[c] += g[c] * (x[c] - mean[c]);
        }
      });
    }

   private:
    const Rows& rows_;
    int64_t first_, columns_;
    RowBuffer<T> inputs_, grads_;
  };
};

template <class T>
void input_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                const Tensor& weight, const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Rows<T> rows(grad_output, input, average, rstd);
  const Images& images = rows.images;
  const ChannelValues<C> weights(weight, images.channels);
  T* out = result.data<T>();
  const C count = static_cast<C>(images.batch);
  for_blocks<C>(images, 4, [&](int64_t first, int64_t columns) {
    typename Rows<T>::Reader reader(rows, first, columns);
    RowBuffer<T> target(columns);
    C mean[kMostColumns], shift[kMostColumns], slope[kMostColumns], factor[kMostColumns];
    C sums[2 * kMostColumns];
    for (int64_t c = 0; c < columns; ++c) mean[c] = rows.averages.at(first + c, 0);
    reader.sum(mean, sums);
    for (int64_t c = 0; c < columns; ++c) {
      const C scale = rows.rstds.at(first + c, 1);
      shift[c] = sums[c] / count;
      slope[c] = sums[kMostColumns + c] * scale * scale / count;
      factor[c] = scale * weights.at(first + c, 1);
    }
    for (int64_t r = 0; r < images.batch; ++r) {
      const C *x = reader.input(r), *g = reader.grad(r);
      C* y = target.target(out + images.run(r, first));
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c)
        y[c] = factor[c] * (g[c] - shift[c] - (x[c] - mean[c]) * slope[c]);
      target.store(out + images.run(r, first), columns);
    }
  });
}

template <class T>
void weight_grad(const Tensor& result, const Tensor& grad_output, const Tensor& input,
                 const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Rows<T> rows(grad_output, input, average, rstd);
  T* out = result.data<T>();
  for_blocks<C>(rows.images, 2, [&](int64_t first, int64_t columns) {
    C mean[kMostColumns], sums[2 * kMostColumns];
    for (int64_t c = 0; c < columns; ++c) mean[c] = rows.averages.at(first + c, 0);
    typename Rows<T>::Reader(rows, first, columns).sum(mean, sums);
    for (int64_t c = 0; c < columns; ++c)
      out[first + c] = T(sums[kMostColumns + c] * rows.rstds.at(first + c, 1));
  });
}

}  // namespace batch_norm_columns
}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
