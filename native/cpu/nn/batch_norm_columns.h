#pragma once

/// Batch normalization of [batch, channels, 1], as fully connected layers have it: a channel is a
/// column. A tile is some rows of some columns; of a batch of few rows it holds all, and is
/// normalized while the cache has it. Of many rows, tiles are added up first.

#include "cpu/nn/batch_norm_channels.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {
namespace batch_norm_columns {

constexpr int64_t kMostColumns = 512, kMostRows = 512;  // of a tile
constexpr int64_t kFewRows = 32;                        // which are added up plainly

template <class C>
inline constexpr int64_t kLineOf = 64 / static_cast<int64_t>(sizeof(C));

struct Tile {
  int64_t begin, end;      ///< rows
  int64_t first, columns;  ///< columns
  int64_t stripe;          ///< which of those of the same columns
};

/// The tiles of a batch; what they are does not depend on threads where there are several stripes.
class Tiles {
 public:
  Tiles(const Images& images, int64_t line)
      : batch_(images.batch), channels_(images.channels), stripes_(parts(batch_, kMostRows)) {
    const int64_t share = stripes_ > 1 ? channels_ : parts(channels_, num_threads());
    width_ = parts(share, parts(share, kMostColumns) * line) * line;
    rows_ = parts(batch_, stripes_);
  }
  int64_t stripes() const { return stripes_; }
  /// Calls body(tile) for all of them; `cost`: of an element.
  template <class Body>
  void for_each(int64_t cost, const Body& body) const {
    const int64_t across = parts(channels_, width_);
    for_rows(stripes_ * across, rows_ * width_, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(tile(i / across, i % across * width_));
    });
  }
  /// The same of one stripe.
  template <class Body>
  void for_blocks(int64_t cost, const Body& body) const {
    for_rows(parts(channels_, width_), width_, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) body(tile(0, i * width_));
    });
  }
  int64_t rows_of(int64_t stripe) const { return std::min(rows_, batch_ - stripe * rows_); }

 private:
  static int64_t parts(int64_t count, int64_t size) {
    return size == 0 ? 0 : (count + size - 1) / size;
  }
  Tile tile(int64_t stripe, int64_t first) const {
    const int64_t begin = stripe * rows_;
    return {begin, begin + rows_of(stripe), first, std::min(width_, channels_ - first), stripe};
  }
  int64_t batch_, channels_, stripes_, width_, rows_;
};

/// Two numbers of each column and stripe.
template <class C>
class ByStripe {
 public:
  ByStripe(const Images& images, const Tiles& tiles)
      : channels_(images.channels),
        first_(static_cast<size_t>(tiles.stripes() > 1 ? tiles.stripes() * channels_ : 0)),
        second_(first_.size()) {}
  void keep(const Tile& tile, const C* first, const C* second) {
    std::copy_n(first, tile.columns, &first_[place(tile)]);
    std::copy_n(second, tile.columns, &second_[place(tile)]);
  }
  const C* first(const Tile& tile, int64_t stripe) const { return &first_[place(tile, stripe)]; }
  const C* second(const Tile& tile, int64_t stripe) const { return &second_[place(tile, stripe)]; }

 private:
  size_t place(const Tile& tile) const { return place(tile, tile.stripe); }
  size_t place(const Tile& tile, int64_t stripe) const {
    return static_cast<size_t>(stripe * channels_ + tile.first);
  }
  int64_t channels_;
  std::vector<C> first_, second_;
};

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

/// Those of all stripes of some columns, from those of each.
template <class C>
void combine_moments(const Tile& tile, const Tiles& tiles, const ByStripe<C>& moments,
                     double (&mean)[kMostColumns], double (&squares)[kMostColumns]) {
  std::fill_n(mean, tile.columns, 0.0);
  std::fill_n(squares, tile.columns, 0.0);
  double rows = 0;
  for (int64_t stripe = 0; stripe < tiles.stripes(); ++stripe) {
    const auto more = static_cast<double>(tiles.rows_of(stripe));
    const double share = more / (rows + more), weight = share * rows;
    const C *means = moments.first(tile, stripe), *others = moments.second(tile, stripe);
#pragma omp simd
    for (int64_t c = 0; c < tile.columns; ++c) {
      const double distance = static_cast<double>(means[c]) - mean[c];
      mean[c] += share * distance;
      squares[c] += static_cast<double>(others[c]) + weight * distance * distance;
    }
    rows += more;
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
  const Tiles tiles(images, kLineOf<C>);
  const auto set = [&](const Tile& tile, const auto* mean, const auto* squares) {
    for (int64_t c = 0; c < tile.columns; ++c)
      statistics.set(tile.first + c, static_cast<C>(mean[c]), static_cast<C>(squares[c]));
  };
  const auto normalize = [&](const Tile& tile) {
    RowBuffer<T> buffer(tile.columns), target(tile.columns);
    C mean[kMostColumns], factor[kMostColumns], shift[kMostColumns];
    for (int64_t c = 0; c < tile.columns; ++c)
      statistics.get(tile.first + c, mean[c], factor[c], shift[c]);
    for (int64_t r = tile.begin; r < tile.end; ++r) {
      const int64_t place = images.run(r, tile.first);
      const C* x = buffer.load(in + place, tile.columns);
      C* y = target.target(out + place);
#pragma omp simd
      for (int64_t c = 0; c < tile.columns; ++c) y[c] = (x[c] - mean[c]) * factor[c] + shift[c];
      target.store(out + place, tile.columns);
    }
  };
  ByStripe<C> moments(images, tiles);
  tiles.for_each(tiles.stripes() == 1 ? 3 : 2, [&](const Tile& tile) {
    RowBuffer<T> buffer(tile.columns);
    C mean[kMostColumns], squares[kMostColumns];
    find_moments(tile.begin, tile.end, tile.columns, mean, squares, [&](int64_t r) {
      return buffer.load(in + images.run(r, tile.first), tile.columns);
    });
    if (tiles.stripes() > 1) return moments.keep(tile, mean, squares);
    set(tile, mean, squares);
    normalize(tile);
  });
  if (tiles.stripes() > 1) {
    tiles.for_blocks(tiles.stripes(), [&](const Tile& tile) {
      double mean[kMostColumns], squares[kMostColumns];
      combine_moments(tile, tiles, moments, mean, squares);
      set(tile, mean, squares);
    });
    tiles.for_each(1, normalize);
  }
  statistics.update_running(running_mean, running_var, momentum);
}

/// sum(grad), and kMostColumns further sum(grad (x - mean)) of some columns.
template <class C, class Input, class Grad>
void column_sums(const Tile& tile, const C* mean, const Input& input, const Grad& grad,
                 C (&sums)[2 * kMostColumns]) {
  sum_rows(tile.begin, tile.end, sums, [&](int64_t r, C* total) {
    const C *x = input(r), *g = grad(r);
    C* const product = total + kMostColumns;
#pragma omp simd
    for (int64_t c = 0; c < tile.columns; ++c) {
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
  const Tiles tiles(images, kLineOf<C>);
  const C count = static_cast<C>(images.batch);
  C *const weight_grads = weight_grad.data<C>(), *const bias_grads = bias_grad.data<C>();
  const auto set = [&](const Tile& tile, const auto* sums, const auto* products) {
    for (int64_t c = 0; c < tile.columns; ++c) {
      weight_grads[tile.first + c] = static_cast<C>(products[c]) * rstds.at(tile.first + c, 1);
      bias_grads[tile.first + c] = static_cast<C>(sums[c]);
    }
  };
  // Rows of a tile, through buffers where they are halves.
  const auto with_rows = [&](const Tile& tile, const auto& body) {
    RowBuffer<T> inputs(tile.columns), grads(tile.columns);
    const auto input_row = [&](int64_t r) {
      return inputs.load(dense.data<T>() + images.run(r, tile.first), tile.columns);
    };
    const auto grad_row = [&](int64_t r) {
      return grads.load(dense_grad.data<T>() + images.run(r, tile.first), tile.columns);
    };
    body(input_row, grad_row);
  };
  const auto apply = [&](const Tile& tile, const auto& input_row, const auto& grad_row) {
    RowBuffer<T> target(tile.columns);
    C mean[kMostColumns], shift[kMostColumns], slope[kMostColumns], factor[kMostColumns];
    for (int64_t c = 0; c < tile.columns; ++c) {
      const int64_t channel = tile.first + c;
      const C scale = rstds.at(channel, 1);
      mean[c] = averages.at(channel, 0);
      shift[c] = bias_grads[channel] / count;
      slope[c] = weight_grads[channel] * scale / count;
      factor[c] = scale * weights.at(channel, 1);
    }
    for (int64_t r = tile.begin; r < tile.end; ++r) {
      const C *x = input_row(r), *g = grad_row(r);
      C* y = target.target(out + images.run(r, tile.first));
#pragma omp simd
      for (int64_t c = 0; c < tile.columns; ++c)
        y[c] = factor[c] * (g[c] - shift[c] - (x[c] - mean[c]) * slope[c]);
      target.store(out + images.run(r, tile.first), tile.columns);
    }
  };
  ByStripe<C> kept(images, tiles);
  tiles.for_each(tiles.stripes() == 1 ? 4 : 2, [&](const Tile& tile) {
    with_rows(tile, [&](const auto& input_row, const auto& grad_row) {
      C mean[kMostColumns], sums[2 * kMostColumns];
      for (int64_t c = 0; c < tile.columns; ++c) mean[c] = averages.at(tile.first + c, 0);
      column_sums(tile, mean, input_row, grad_row, sums);
      if (tiles.stripes() > 1) return kept.keep(tile, sums, sums + kMostColumns);
      set(tile, sums, sums + kMostColumns);
      apply(tile, input_row, grad_row);
    });
  });
  if (tiles.stripes() == 1) return;
  tiles.for_blocks(tiles.stripes(), [&](const Tile& tile) {
    double sums[kMostColumns] = {}, products[kMostColumns] = {};
    for (int64_t stripe = 0; stripe < tiles.stripes(); ++stripe) {
      const C *more = kept.first(tile, stripe), *others = kept.second(tile, stripe);
#pragma omp simd
      for (int64_t c = 0; c < tile.columns; ++c) {
        sums[c] += static_cast<double>(more[c]);
        products[c] += static_cast<double>(others[c]);
      }
    }
    set(tile, sums, products);
  });
  tiles.for_each(2, [&](const Tile& tile) {
    with_rows(tile, [&](const auto& input_row, const auto& grad_row) {
      apply(tile, input_row, grad_row);
    });
  });
}

}  // namespace batch_norm_columns
}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
