#pragma once

#include <optional>

#include "core/tensor/tensor.h"
#include "core/threads/parallel.h"

namespace flambeau {

/// Geometry of reducing a tensor over some of its dims: what a reduction kernel walks.
///
///   Reduction reduction("sum");
///   reduction.add_output(DType::float32, out);          // undefined: allocated by build()
///   reduction.build(self, dims, keepdim);               // dims: none or empty: all
///   table[reduction.backend()](reduction, parameters);
///   reduction.finish();
///   return reduction.output(0);
///
/// Dims of size 1 are dropped, then neighbours are merged, kept and reduced ones apart; dim 0 is
/// the innermost (the smallest input stride). Strides are in bytes and may be 0 or negative. For
/// the kept dim d, `input_kept_stride(d)` steps through the input, `output_stride(i, d)` through
/// output i.
class FLAMBEAU_API Reduction {
 public:
  static constexpr int kMaxOutputs = 4;
  static constexpr int kMaxRank = 16;

  /// The shapes that deserve a loop of their own; `general` covers everything else.
  enum class Kind : uint8_t {
    full,    ///< one output element; the input is one dense run of count() elements
    inner,   ///< several outputs; each reduces one dense run of count() elements
    outer,   ///< one reduced dim (any stride); kept dim 0 is dense in the input and in the outputs
    general  ///< anything, including nothing to reduce (count() == 0)
  };

  explicit Reduction(const char* op) : op_(op) {}
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  /// `dtype`: the declared result dtype. A given tensor is resized when it is empty, must have the
  /// reduced shape otherwise, and must be able to hold `dtype`.
  void add_output(DType dtype, const Tensor& output = {});
  /// `input` already has the dtype that the kernel reads.
  void build(const Tensor& input, std::optional<IntList> dims, bool keepdim);
  /// Moves results into out tensors of another dtype or that overlapped the input.
  void finish();

  const char* op() const { return op_; }
  Backend backend() const { return device_.backend; }
  Device device() const { return device_; }
  DType input_dtype() const { return input_.dtype(); }
  DType output_dtype(int i = 0) const { return outputs_[i].computed.dtype(); }
  int output_count() const { return output_count_; }
  const Tensor& input() const { return input_; }
  /// The result, after finish().
  const Tensor& output(int i = 0) const {
    const Output& output = outputs_[i];
    return output.destination.defined() ? output.destination : output.computed;
  }
  /// The same, for who is done with the reduction.
  Tensor take_output(int i = 0) {
    Output& output = outputs_[i];
    return std::move(output.destination.defined() ? output.destination : output.computed);
  }

  Kind kind() const { return kind_; }
  /// Input elements per output element; outputs.
  int64_t count() const { return count_; }
  int64_t output_numel() const { return output_numel_; }

  int kept_rank() const { return kept_rank_; }
  int64_t kept_extent(int dim) const { return kept_extents_[dim]; }
  int64_t input_kept_stride(int dim) const { return input_kept_strides_[dim]; }
  int64_t output_stride(int i, int dim) const { return outputs_[i].strides[dim]; }
  int reduced_rank() const { return reduced_rank_; }
  int64_t reduced_extent(int dim) const { return reduced_extents_[dim]; }
  int64_t reduced_stride(int dim) const { return reduced_strides_[dim]; }
  const char* input_data() const { return input_data_; }
  char* output_data(int i = 0) const { return outputs_[i].data; }

  /// The walkers below cover `general` and serve `inner` and `outer` as well; serial: split
  /// [0, output_numel()), or one output's range, with parallel_for.

  /// Calls body(input, outputs) for kept elements [begin, end), in merged order: where the input of
  /// that output element begins, and where it goes.
  using OutputBody = FunctionRef<void(const char* input, char* const* outputs)>;
  void for_each_output(int64_t begin, int64_t end, OutputBody body) const;
  /// Calls body(input, outputs, count) for runs of kept dim 0 that cover kept elements [begin,
  /// end): `outer` kernels step through the run densely.
  using OutputRunBody = FunctionRef<void(const char* input, char* const* outputs, int64_t count)>;
  void for_each_output_run(int64_t begin, int64_t end, OutputRunBody body) const;
  /// Calls body(data, byte_stride, count) for runs of reduced dim 0 that cover reduced elements
  /// [begin, end) of the output element whose input begins at `input`.
  using ReducedRunBody = FunctionRef<void(const char* data, int64_t stride, int64_t count)>;
  void for_each_reduced_run(const char* input, int64_t begin, int64_t end,
                            ReducedRunBody body) const;

 private:
  struct Output {
    DType dtype = DType::float32;
    Tensor computed, destination;
    char* data = nullptr;
    int64_t strides[kMaxRank];
  };
  void prepare_outputs(IntList shape);
  void merge(IntList sizes, IntList strides, uint64_t reduced_mask, bool keepdim);
  void classify();

  const char* op_;
  int output_count_ = 0, kept_rank_ = 0, reduced_rank_ = 0;
  Kind kind_ = Kind::general;
  Device device_;
  int64_t count_ = 0, output_numel_ = 0;
  Tensor input_;
  const char* input_data_ = nullptr;
  int64_t kept_extents_[kMaxRank], input_kept_strides_[kMaxRank];
  int64_t reduced_extents_[kMaxRank], reduced_strides_[kMaxRank];
  Output outputs_[kMaxOutputs];
};

}  // namespace flambeau
