#include <algorithm>
#include <cstring>

#include "core/tensor/views.h"
#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "cpu/index/add_row.h"
#include "cpu/index/shared_rows.h"
#include "cpu/short_rows.h"
#include "cpu/walk.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

/// The same rows of some of the blocks in front of the dim.
struct Part : RowsPart {
  int64_t first_block, last_block;
};

/// Checked indices into `dim` of `tensor`, which counts as one of one element if it is 0-d.
struct Selection {
  Tensor indices;
  const int64_t* index;
  int64_t count;
  Dim dim;
  Selection(const Tensor& tensor, Dim selected, const Tensor& given, const char* op)
      : indices(dense_indices(given)),
        index(indices.data<int64_t>()),
        count(indices.numel()),
        dim(selected) {
    const int64_t size = tensor.dim() == 0 ? 1 : tensor.size(dim);
    check_indices(index, count, size, dim, op);
  }
  /// Calls body(row of the selection, row of the tensor) for the rows [begin, end) of a selection
  /// from blocks of `size` rows.
  template <class Body>
  void for_rows(int64_t begin, int64_t end, int64_t size, const Body& body) const {
    if (count == 0) return;
    int64_t j = begin % count, first = begin / count * size;
    for (int64_t row = begin; row < end; ++row) {
      body(row, first + index[j]);
      if (++j < count) continue;
      j = 0;
      first += size;
    }
  }
  /// The same for the rows of a part.
  template <class Body>
  void for_rows_of(const Part& part, int64_t size, const Body& body) const {
    for (int64_t block = part.first_block; block < part.last_block; ++block)
      for (int64_t j = 0; j < count; ++j)
        if (index[j] >= part.first_place && index[j] < part.last_place)
          body(block * count + j, block * size + index[j]);
  }
};

/// Indices of which negative ones count from the end.
Tensor from_the_front(const Tensor& tensor, Dim dim, const Tensor& index) {
  const int64_t size = tensor.dim() == 0 ? 1 : tensor.size(dim);
  const Tensor given = dense_indices(index);
  const Tensor result = flambeau::empty(given.sizes(), DType::int64, given.device());
  std::transform(given.data<int64_t>(), given.data<int64_t>() + given.numel(),
                 result.data<int64_t>(),
                 [&](int64_t value) { return wrap_index(value, size, dim, "index_fill_"); });
  return result;
}

/// Runs body(dense, values, blocks) on the tensor, with its dims in the order of its memory, or on
/// a dense copy that is written back. `values`: of `source`, which may be undefined, in the same
/// order; `blocks`: of `dense` along the dim.
template <class Body>
void on_dense(const Tensor& self, const Tensor& source, Dim dim, const Body& body) {
  const auto values = [](const Tensor& from) {
    return from.defined() ? contiguous_data(from) : from;
  };
  if (self.is_contiguous() || self.dim() < 2 || (source.defined() && source.dim() != self.dim())) {
    const Tensor dense = contiguous_data(self);
    body(dense, values(source), DimBlocks(self.sizes(), dim));
    if (!dense.is_same(self)) copy_data(self, dense);
    return;
  }
  const MemoryOrder order(self);
  const Tensor in_order = order.turned(self), dense = contiguous_data(in_order);
  body(dense, values(source.defined() ? order.turned(source) : source),
       DimBlocks(in_order.sizes(), order.place_of(dim)));
  if (!dense.is_same(in_order)) copy_data(in_order, dense);
}

/// Calls body(part) on several threads, none of which writes what another writes: they share out
/// the blocks, or the rows where there is one block.
template <class Body>
void in_parts(const DimBlocks& blocks, int64_t rows, const Body& body) {
  const int64_t size = blocks.size, inner = blocks.inner;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, rows * inner));
  if (blocks.outer > 1)
    return parallel_for(0, blocks.outer, grain, [&](int64_t begin, int64_t end) {
      body(Part{{0, size, 0, inner}, begin, end});
    });
  share_rows(rows, size, inner, 1, [&](const RowsPart& part) {
    body(Part{part, 0, blocks.outer});
  });
}

/// Calls body(row of the selection, row of the tensor) for rows of one element, on several threads.
template <class Body>
void for_elements(const DimBlocks& blocks, const Selection& selection, const Body& body) {
  in_parts(blocks, selection.count, [&](const Part& part) {
    for (int64_t block = part.first_block; block < part.last_block; ++block) {
      const int64_t row = block * selection.count, first = block * blocks.size;
      for (int64_t j = 0; j < selection.count; ++j) body(row + j, first + selection.index[j]);
    }
  });
}

/// to[index[i]] += from[i], times a factor where there is one.
template <class T>
void add_elements(T* to, const int64_t* index, const T* from, int64_t count, const T* factor) {
  for (int64_t i = 0; i < count; ++i)
    to[index[i]] = plus(to[index[i]], factor ? times(*factor, from[i]) : from[i]);
}

/// A function of (to, from, count) that adds rows, times a factor where there is one.
template <class T>
auto row_adder(const T* factor) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto add = FLAMBEAU_PICK(add_row<T>);
    return [add, by = factor ? *factor : T(1)](T* to, const T* from, int64_t count) {
      add(to, from, by, count);
    };
  } else {
    return [factor](T* to, const T* from, int64_t count) {
      if (factor) {
        for (int64_t i = 0; i < count; ++i) to[i] = plus(to[i], times(*factor, from[i]));
      } else {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) to[i] = plus(to[i], from[i]);
      }
    };
  }
}

/// Slices one by one, where a dense copy of what they are from would move far more.
bool select_slices(const Tensor& result, const Tensor& self, const Selection& selection) {
  constexpr int64_t kLarge = 4096;  // elements of a slice, which hide what a copy costs at least
  if (self.is_contiguous() || result.numel() < kLarge * selection.count ||
      2 * result.numel() > self.numel())
    return false;
  for (int64_t i = 0; i < selection.count; ++i)
    copy_data(make_view(result, views::select(result, selection.dim, i)),
              make_view(self, views::select(self, selection.dim, selection.index[i])));
  return true;
}

/// Dense tensors, the blocks of the source.
void select_rows(const Tensor& result, const Tensor& source, const Selection& selection,
                 const DimBlocks& blocks) {
  const int64_t bytes = blocks.inner * static_cast<int64_t>(source.itemsize());
  if (blocks.inner == 1) {
    return with_size(bytes, [&](auto element) {
      using T = decltype(element);
      T* const to = result.data<T>();
      const T* const from = source.data<T>();
      parallel_for(0, blocks.outer * selection.count, kGrain / 2, [&](int64_t begin, int64_t end) {
        int64_t first = begin % selection.count;  // divisions would take longer than short rows
        const T* block = from + begin / selection.count * blocks.size;
        while (begin < end) {
          const int64_t* const index = selection.index + first;
          const int64_t rows = std::min(selection.count - first, end - begin);
          for (int64_t j = 0; j < rows; ++j) to[begin + j] = block[index[j]];
          first = 0;
          block += blocks.size;
          begin += rows;
        }
      });
    });
  }
  char* const to = static_cast<char*>(result.raw_data());
  const char* const from = static_cast<const char*>(source.raw_data());
  const int64_t grain = std::max<int64_t>(1, 2 * kGrain / std::max<int64_t>(1, bytes));
  parallel_for(0, blocks.outer * selection.count, grain, [&](int64_t begin, int64_t end) {
    selection.for_rows(begin, end, blocks.size, [&](int64_t row, int64_t place) {
      copy_row(to + row * bytes, from + place * bytes, bytes);
    });
  });
}

}  // namespace

void index_select(const Tensor& result, const Tensor& self, Dim dim, const Tensor& index) {
  const Selection selection(self, dim, index, "index_select");
  if (result.numel() == 0 || select_slices(result, self, selection)) return;
  if (self.is_contiguous() || self.dim() < 2 || result.numel() > self.numel())
    return select_rows(result, contiguous_data(self), selection, DimBlocks(self.sizes(), dim));
  // The smaller one is turned.
  const MemoryOrder order(self);
  const Tensor turned = order.turned(result), picked = empty(turned.sizes(), self.dtype());
  const Tensor source = contiguous_data(order.turned(self));
  select_rows(picked, source, selection, DimBlocks(source.sizes(), order.place_of(dim)));
  copy_data(turned, picked);
}

void index_add_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& source,
                const Scalar& alpha) {
  const Selection selection(self, dim, index, "index_add_");
  if (source.numel() == 0) return;
  on_dense(self, source, selection.dim,
           [&](const Tensor& dense, const Tensor& values, const DimBlocks& blocks) {
             const int64_t inner = blocks.inner, count = selection.count;
             visit_stored_dtype(self.dtype(), [&]<class T>() {
               const bool scaled = !alpha.equals(1);
               const T factor = alpha.to<T>();
               const T* const from = values.data<T>();
               T* const to = dense.data<T>();
               if (inner == 1) {
                 return in_parts(blocks, count, [&](const Part& part) {
                   for (int64_t o = part.first_block; o < part.last_block; ++o)
                     add_elements(to + o * blocks.size, selection.index, from + o * count, count,
                                  scaled ? &factor : nullptr);
                 });
               }
               const auto add = row_adder<T>(scaled ? &factor : nullptr);
               in_parts(blocks, count, [&](const Part& part) {
                 const int64_t begin = part.first_column, columns = part.last_column - begin;
                 selection.for_rows_of(part, blocks.size, [&](int64_t row, int64_t place) {
                   add(to + place * inner + begin, from + row * inner + begin, columns);
                 });
               });
             });
           });
}

void index_copy_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& source) {
  const Selection selection(self, dim, index, "index_copy_");
  if (source.numel() == 0) return;
  on_dense(self, source, selection.dim,
           [&](const Tensor& dense, const Tensor& values, const DimBlocks& blocks) {
             const int64_t item_bytes = static_cast<int64_t>(self.itemsize()),
                           count = selection.count;
             if (blocks.inner == 1) {
               return with_size(item_bytes, [&](auto element) {
                 using T = decltype(element);
                 T* const to = dense.data<T>();
                 const T* const from = values.data<const T>();
                 for_elements(blocks, selection,
                              [=](int64_t row, int64_t place) { to[place] = from[row]; });
               });
             }
             char* const to = static_cast<char*>(dense.raw_data());
             const char* const from = static_cast<const char*>(values.raw_data());
             in_parts(blocks, count, [&](const Part& part) {
               const int64_t begin = part.first_column, columns = part.last_column - begin;
               selection.for_rows_of(part, blocks.size, [&](int64_t row, int64_t place) {
                 memcpy(to + (place * blocks.inner + begin) * item_bytes,
                        from + (row * blocks.inner + begin) * item_bytes,
                        static_cast<size_t>(columns * item_bytes));
               });
             });
           });
}

void index_fill_(const Tensor& self, Dim dim, const Tensor& index, const Operand& value) {
  const Tensor places = from_the_front(self, dim, index);
  const Selection selection(self, dim, places, "index_fill_");
  if (self.numel() == 0) return;
  const Tensor number = flambeau::empty(Shape(), self.dtype(), self.device());
  if (!value.is_tensor()) value.scalar().check_fits(self.dtype(), "index_fill_", "value");
  fill_data(number, value.is_tensor() ? item(value.tensor()) : value.scalar());
  on_dense(self, {}, selection.dim,
           [&](const Tensor& dense, const Tensor&, const DimBlocks& blocks) {
             with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
               using T = decltype(element);
               const T filled = *number.data<T>();
               T* const to = dense.data<T>();
               const int64_t count = selection.count;
               if (blocks.inner == 1)
                 return for_elements(blocks, selection,
                                     [=](int64_t, int64_t place) { to[place] = filled; });
               in_parts(blocks, count, [&](const Part& part) {
                 selection.for_rows_of(part, blocks.size, [&](int64_t, int64_t place) {
                   T* const target = to + place * blocks.inner;
#pragma omp simd
                   for (int64_t k = part.first_column; k < part.last_column; ++k)
                     target[k] = filled;
                 });
               });
             });
           });
}

}  // namespace flambeau::cpu
