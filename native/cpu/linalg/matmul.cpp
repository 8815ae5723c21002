#include "core/geometry/broadcast.h"
#include "cpu/linalg/batch.h"

namespace flambeau::cpu {
namespace {

/// Element offset of batch entry `index` of an operand whose leading dimensions broadcast to
/// `batch`.
int64_t batch_offset(int64_t index, IntList batch, const Tensor& operand) {
  const int64_t own = operand.dim() - 2, rank = static_cast<int64_t>(batch.size());
  int64_t offset = 0;
  for (int64_t d = rank - 1; d >= 0; --d) {
    const int64_t position = index % batch[static_cast<size_t>(d)];
    index /= batch[static_cast<size_t>(d)];
    const int64_t mine = d - (rank - own);
    if (mine >= 0 && operand.sizes()[static_cast<size_t>(mine)] != 1)
      offset += position * operand.strides()[static_cast<size_t>(mine)];
  }
  return offset;
}

/// The elements between one matrix of the broadcast batch and the next, where that is the same for
/// all of them.
std::optional<int64_t> batch_step(IntList batch, const Tensor& operand) {
  const size_t own = operand.sizes().size() - 2;
  int64_t step = 0, covered = 1;
  for (size_t d = batch.size(); d-- > 0;) {
    if (batch[d] == 1) continue;
    const bool is_own = d + own >= batch.size();
    const size_t mine = is_own ? d + own - batch.size() : 0;
    const int64_t stride = is_own && operand.sizes()[mine] != 1 ? operand.strides()[mine] : 0;
    if (covered == 1) step = stride;
    if (stride != step * covered) return std::nullopt;
    covered *= batch[d];
  }
  return step;
}

/// The operand as a matrix (or a stack): a vector is a row on the left, a column on the right.
Tensor as_matrix(const Tensor& tensor, bool left) {
  if (tensor.dim() > 1) return tensor;
  const int64_t size = tensor.sizes()[0], stride = tensor.strides()[0];
  return left ? make_view(tensor, Shape{1, size}, Shape{size * stride, stride}, tensor.offset())
              : make_view(tensor, Shape{size, 1}, Shape{stride, 1}, tensor.offset());
}

template <class T>
void multiply(const Tensor& result, const Tensor& self, const Tensor& other) {
  const size_t a_rank = self.sizes().size(), b_rank = other.sizes().size();
  const int64_t m = self.sizes()[a_rank - 2], k = self.sizes()[a_rank - 1];
  const int64_t n = other.sizes()[b_rank - 1];
  T* c = result.data<T>();
  if (a_rank == 2 && b_rank == 2) {
    gemm<T>({m, n, k, matrix_of<T>(self), matrix_of<T>(other), c, n});
    return;
  }
  if (result.numel() == 0) return;
  if (b_rank == 2) {
    // One matrix on the right: a single product with all the rows.
    const std::optional<int64_t> step = merged_row_step(self);
    const Tensor rows = step ? self : contiguous_data(self);
    const MatrixView<T> a{rows.data<T>(), step.value_or(k), rows.strides()[a_rank - 1]};
    gemm<T>({result.numel() / n, n, k, a, matrix_of<T>(other), c, n});
    return;
  }
  const Shape batch = broadcast_shapes(IntList(self.sizes()).first(a_rank - 2),
                                       IntList(other.sizes()).first(b_rank - 2), "matmul");
  const int64_t count = result.numel() / (m * n);
  const std::optional<int64_t> a_step = batch_step(batch, self), b_step = batch_step(batch, other);
  if (a_step && b_step)
    return multiply_stacks<T>(
        {count, m, n, k, {matrix_of<T>(self), *a_step}, {matrix_of<T>(other), *b_step}, c});
  over_batch(count, m, n, k, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      gemm<T>({m, n, k, matrix_of<T>(self, batch_offset(i, batch, self)),
               matrix_of<T>(other, batch_offset(i, batch, other)), c + i * m * n, n});
  });
}

}  // namespace

void matmul(const Tensor& result, const Tensor& self, const Tensor& other) {
  if (FLAMBEAU_LIKELY(self.dtype() == DType::float32 && self.dim() == 2 && other.dim() == 2)) {
    multiply<float>(result, self, other);
    return;
  }
  const Tensor a = as_matrix(self, true), b = as_matrix(other, false);
  visit_numeric(self.dtype(), "matmul", [&](auto zero) { multiply<decltype(zero)>(result, a, b); });
}

}  // namespace flambeau::cpu
