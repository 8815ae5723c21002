#pragma once

/// Batch normalization of [batch, channels, 1], as fully connected layers have it: a channel is a
/// column, and some columns are worked on together, in passes over their rows.

#include "cpu/nn/batch_norm_channels.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {
namespace batch_norm_columns {

constexpr int64_t kMostColumns = 512;
constexpr int64_t kFewRows = 32;  // which stay in the second-level cache, and are added up plainly

/// Calls body(first column, columns) for blocks of columns, as many and as wide for each thread.
template <class C, class Body>
void for_blocks(const Images& images, int64_t cost, const Body& body) {
  if (images.channels == 0) return;
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(C));
  const int64_t share = (images.channels + num_threads() - 1) / num_threads();
  const int64_t blocks = (share + kMostColumns - 1) / kMostColumns;  // of a thread
  const int64_t width = (share + blocks * kLine - 1) / (blocks * kLine) * kLine;
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

/// The means of some columns, and the sums of the squares of the distances from them: of few rows
/// one after the other; those of two halves give those of both (T. Chan, G. Golub and R. LeVeque,
/// Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979).
template <class C, class Row>
void find_moments(int64_t begin, int64_t end, int64_t columns, C (&mean)[kMostColumns],
                  C (&squares)[kMostColumns], const Row& row) {
  const C count = static_cast<C>(end - begin);
  std::fill_n(squares, columns, C(0));
  if (end - begin <= kFewRows) {
    std::fill_n(mean, columns, C(0));
    for (int64_t r = begin; r < end; ++r) {
      const C* x = row(r);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) mean[c] += x[c];
    }
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) mean[c] /= count;
    for (int64_t r = begin; r < end; ++r) {
      const C* x = row(r);
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) squares[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
    }
    return;
  }
  const int64_t middle = begin + (end - begin) / 2;
  C other_mean[kMostColumns], other_squares[kMostColumns];
  find_moments(begin, middle, columns, mean, squares, row);
  find_moments(middle, end, columns, other_mean, other_squares, row);
  const C share = static_cast<C>(end - middle) / count;
  const C weight = share * static_cast<C>(middle - begin);
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) {
    const C distance = other_mean[c] - mean[c];
    mean[c] += share * distance;
    squares[c] += other_squares[c] + weight * distance * distance;
  }
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
    find_moments(0, images.batch, columns, mean, squares,
                 [&](int64_t r) { return buffer.load(in + images.run(r, first), columns); });
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

/// sum(grad), and kMostColumns further sum(grad (x - mean)) of some columns.
template <class C, class Input, class Grad>
void column_sums(int64_t rows, int64_t columns, const C* mean, const Input& input, const Grad& grad,
                 C (&sums)[2 * kMostColumns]) {
  sum_rows(0, rows, sums, [&](int64_t r, C* total) {
    const C *x = input(r), *g = grad(r);
    C* const product = total + kMostColumns;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) {
      total[c] += g[c];
      product[c] += g[c] * (x[c] - mean[c]);
    }
  });
}

template <class T>
void gradients(const Tensor& input_grad, const Tensor& weight_grad, const Tensor& bias_grad,
               const Tensor& grad_output, const Tensor& input, const Tensor& weight,
               const Tensor& average, const Tensor& rstd) {
  using C = Compute<T>;
  const Images images(input);
  const Tensor dense = contiguous_data(input), dense_grad = contiguous_data(grad_output);
  const ChannelValues<C> weights(weight, images.channels);
  const ChannelValues<C> averages(average, images.channels), rstds(rstd, images.channels);
  T* const out = input_grad.data<T>();
  const C count = static_cast<C>(images.batch);
  for_blocks<C>(images, 4, [&](int64_t first, int64_t columns) {
    RowBuffer<T> inputs(columns), grads(columns), target(columns);
    // Rows of these columns, through buffers where they are halves.
    const auto input_row = [&](int64_t r) {
      return inputs.load(dense.data<T>() + images.run(r, first), columns);
    };
    const auto grad_row = [&](int64_t r) {
      return grads.load(dense_grad.data<T>() + images.run(r, first), columns);
    };
    C mean[kMostColumns], shift[kMostColumns], slope[kMostColumns], factor[kMostColumns];
    C sums[2 * kMostColumns];
    for (int64_t c = 0; c < columns; ++c) mean[c] = averages.at(first + c, 0);
    column_sums(images.batch, columns, mean, input_row, grad_row, sums);
    for (int64_t c = 0; c < columns; ++c) {
      const C scale = rstds.at(first + c, 1), product = sums[kMostColumns + c];
      weight_grad.data<C>()[first + c] = product * scale;
      bias_grad.data<C>()[first + c] = sums[c];
      shift[c] = sums[c] / count;
      slope[c] = product * scale * scale / count;
      factor[c] = scale * weights.at(first + c, 1);
    }
    for (int64_t r = 0; r < images.batch; ++r) {
      const C *x = input_row(r), *g = grad_row(r);
      C* y = target.target(out + images.run(r, first));
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c)
        y[c] = factor[c] * (g[c] - shift[c] - (x[c] - mean[c]) * slope[c]);
      target.store(out + images.run(r, first), columns);
    }
  });
}

}  // namespace batch_norm_columns
}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
