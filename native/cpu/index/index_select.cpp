#include <cstring>

#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "cpu/walk.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

/// Checked indices into `dim` of `tensor`.
struct Selection {
  Tensor indices;
  const int64_t* index;
  int64_t count, dim;
  Selection(const Tensor& tensor, int64_t given_dim, const Tensor& given, const char* op)
      : indices(dense_indices(given)),
        index(indices.data<int64_t>()),
        count(indices.numel()),
        dim(wrap_dim(given_dim, tensor.dim(), op)) {
    const int64_t size = tensor.dim() == 0 ? 1 : tensor.size(dim);
    for (int64_t i = 0; i < count; ++i) check_index(index[i], size, dim, op);
  }
};

/// Runs body(dense) on the tensor, or on a dense copy that is written back.
template <class Body>
void on_dense(const Tensor& self, const Body& body) {
  const Tensor dense = contiguous_data(self);
  body(dense);
  if (!dense.is_same(self)) copy_data(self, dense);
}

/// What an in-place operator writes: `source` must have the shape of the selection.
void check_source(const Tensor& self, const Tensor& source, const Selection& selection,
                  const char* op) {
  Shape expected = self.sizes();
  if (self.dim() > 0) expected[static_cast<size_t>(selection.dim)] = selection.count;
  check(source.sizes() == expected || (self.dim() == 0 && source.numel() == selection.count),
        ErrorKind::runtime, op, "(): expected a source of shape ", expected, ", got ",
        source.sizes());
}

}  // namespace

void index_select(const Tensor& result, const Tensor& self, int64_t dim, const Tensor& index) {
  const Selection selection(self, dim, index, "index_select");
  if (result.numel() == 0) return;
  const Tensor source = contiguous_data(self);
  const DimBlocks blocks(self.sizes(), selection.dim);
  const int64_t bytes = blocks.inner * static_cast<int64_t>(self.itemsize());
  const int64_t size = blocks.size, count = selection.count;
  const auto copy = [&](auto&& move) {
    const int64_t grain = std::max<int64_t>(1, 2 * kGrain / std::max<int64_t>(1, bytes));
    parallel_for(0, blocks.outer * count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        move(row, row / count * size + selection.index[row % count]);
      }
    });
  };
  if (blocks.inner == 1) {
    return with_size(bytes, [&](auto element) {
      using T = decltype(element);
      T* const to = result.data<T>();
      const T* const from = source.data<T>();
      copy([=](int64_t row, int64_t place) { to[row] = from[place]; });
    });
  }
  char* const to = static_cast<char*>(result.raw_data());
  const char* const from = static_cast<const char*>(source.raw_data());
  copy([=](int64_t row, int64_t place) {
    memcpy(to + row * bytes, from + place * bytes, static_cast<size_t>(bytes));
  });
}

void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                const Scalar& alpha) {
  const Selection selection(self, dim, index, "index_add_");
  check_source(self, source, selection, "index_add_");
  if (source.numel() == 0) return;
  const Tensor values = contiguous_data(source);
  on_dense(self, [&](const Tensor& dense) {
    const DimBlocks blocks(self.sizes(), selection.dim);
    const int64_t inner = blocks.inner, count = selection.count;
    visit_dtype(self.dtype(), [&]<class T>() {
      const bool scaled = !alpha.equals(1);
      const T factor = alpha.to<T>();
      const T* const from = values.data<T>();
      T* const to = dense.data<T>();
      // Each thread owns a range of destination rows, so that sums have one order.
      const int64_t work = count * inner * blocks.outer;
      const int64_t grain =
          work < 2 * kGrain ? blocks.size : std::max<int64_t>(1, blocks.size / num_threads());
      parallel_for(0, blocks.size, grain, [&](int64_t begin, int64_t end) {
        for (int64_t o = 0; o < blocks.outer; ++o) {
          for (int64_t j = 0; j < count; ++j) {
            const int64_t place = selection.index[j];
            if (place < begin || place >= end) continue;
            T* const sum = to + (o * blocks.size + place) * inner;
            const T* const row = from + (o * count + j) * inner;
            if (scaled) {
              for (int64_t k = 0; k < inner; ++k) sum[k] = plus(sum[k], times(factor, row[k]));
            } else {
#pragma omp simd
              for (int64_t k = 0; k < inner; ++k) sum[k] = plus(sum[k], row[k]);
            }
          }
        }
      });
    });
  });
}

void index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const Selection selection(self, dim, index, "index_copy_");
  check_source(self, source, selection, "index_copy_");
  if (source.numel() == 0) return;
  const Tensor values = contiguous_data(source);
  on_dense(self, [&](const Tensor& dense) {
    const DimBlocks blocks(self.sizes(), selection.dim);
    const int64_t bytes = blocks.inner * static_cast<int64_t>(self.itemsize());
    char* const to = static_cast<char*>(dense.raw_data());
    const char* const from = static_cast<const char*>(values.raw_data());
    for (int64_t o = 0; o < blocks.outer; ++o) {
      for (int64_t j = 0; j < selection.count; ++j) {
        memcpy(to + (o * blocks.size + selection.index[j]) * bytes,
               from + (o * selection.count + j) * bytes, static_cast<size_t>(bytes));
      }
    }
  });
}

void index_fill_(const Tensor& self, int64_t dim, const Tensor& index, const Operand& value) {
  const Selection selection(self, dim, index, "index_fill_");
  if (self.numel() == 0) return;
  const Tensor number = flambeau::empty(Shape(), self.dtype(), self.device());
  fill_data(number, value.is_tensor() ? item(value.tensor()) : value.scalar());
  on_dense(self, [&](const Tensor& dense) {
    const DimBlocks blocks(self.sizes(), selection.dim);
    with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
      using T = decltype(element);
      const T filled = *number.data<T>();
      for (int64_t o = 0; o < blocks.outer; ++o) {
        for (int64_t j = 0; j < selection.count; ++j) {
          std::fill_n(dense.data<T>() + (o * blocks.size + selection.index[j]) * blocks.inner,
                      blocks.inner, filled);
        }
      }
    });
  });
}

}  // namespace flambeau::cpu
