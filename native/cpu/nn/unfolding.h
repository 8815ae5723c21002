#pragma once

#include "cpu/nn/conv_geometry.h"

namespace flambeau::cpu {

/// Rows of results, counted over all images: the positions whose patches are unfolded at a time.
struct ResultRows {
  int64_t first, count;
};

/// Convolutions as products of matrices: each position of the result is a column, which holds the
/// elements of one group of the input under the filter, [channels * rows * columns].
template <class T>
class Unfolding {
 public:
  explicit Unfolding(const ConvGeometry& geometry) : g_(geometry) {}

  int64_t depth() const { return g_.in_channels * g_.kernel_size(); }
  int64_t positions(ResultRows rows) const { return rows.count * g_.axes[1].output; }
  /// How many rows of results have patches that fit the nearer caches, or a few images.
  int64_t rows_at_a_time() const;
  /// Whether the rows are of one image: their results then follow each other in memory.
  bool is_in_one_image(ResultRows rows) const {
    const int64_t height = g_.axes[0].output;
    return rows.first / height == (rows.first + rows.count - 1) / height;
  }

  /// columns [depth, positions] of the patches.
  void unfold(ResultRows rows, int64_t group, const T* input, T* columns) const;
  /// Adds columns to the elements that they were patches of.
  void fold(ResultRows rows, int64_t group, const T* columns, T* input) const;
  /// Where the results of a group begin, and how far channels are apart.
  int64_t result_offset(ResultRows rows, int64_t group) const;
  int64_t result_step() const { return g_.output_plane(); }
  /// Results of rows, to and from a matrix [outputs, positions].
  void gather(ResultRows rows, int64_t group, const T* results, T* matrix) const;
  void scatter(ResultRows rows, int64_t group, const T* matrix, T* results) const;

 private:
  /// body(line, range, source) for lines [begin, end) of the depth of a patch: where among the
  /// columns it begins, the positions of it that lie inside of the input, and where in the input
  /// position 0 is, or would be.
  template <class Body>
  void over_lines(ResultRows rows, int64_t begin, int64_t end, const Body& body) const;
  /// body(first, last) of so many lines of positions, which threads share.
  template <class Body>
  void share_lines(ResultRows rows, int64_t lines, const Body& body) const;

  const ConvGeometry& g_;
};

/// Whether products of unfolded patches are faster than reading the images where they lie.
bool forward_unfolds(const ConvGeometry& geometry, DType dtype);
bool input_grad_unfolds(const ConvGeometry& geometry, DType dtype);
bool weight_grad_unfolds(const ConvGeometry& geometry);

/// All are dense; T is a floating type. `bias` may be null.
template <class T>
void convolve_unfolded(const ConvGeometry& geometry, const T* input, const T* weight, const T* bias,
                       T* result);
/// T is float or double.
template <class T>
void unfolded_input_grad(const ConvGeometry& geometry, const T* grad, const T* weight, T* result);
template <class T>
void unfolded_weight_grad(const ConvGeometry& geometry, const T* grad, const T* input, T* result);

}  // namespace flambeau::cpu
