#include <limits>
#include <memory>
#include <optional>

#include "core/tensor/tensor.h"
#include "cpu/blocks.h"
#include "cpu/math.h"
#include "cpu/rows.h"

#include "core/math/extrema.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Whether x replaces `best`: strictly better, so that the first of equals stays, or the first NaN.
template <bool greatest, class C>
FLAMBEAU_INLINE bool is_better(C x, C best) {
  const bool is_beyond = greatest ? x > best : x < best;
  return is_beyond | ((x != x) & (best == best));
}
template <bool greatest, class C>
FLAMBEAU_INLINE C better(C best, C x) {
  return greatest ? math::maximum(best, x) : math::minimum(best, x);
}

template <bool greatest, class C>
C best_of_row(const C* x, int64_t count) {
  constexpr int64_t kLanes = std::min<int64_t>(64, kSumBytes / static_cast<int64_t>(sizeof(C)));
  C best = x[0];
  int64_t i = 0;
  if (count >= kLanes) {
    C lane[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) lane[j] = x[j];
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
#pragma omp simd
      for (int64_t j = 0; j < kLanes; ++j) lane[j] = better<greatest>(lane[j], x[i + j]);
    }
    best = lane[0];
    for (int64_t j = 1; j < kLanes; ++j) best = better<greatest>(best, lane[j]);
  }
  for (; i < count; ++i) best = better<greatest>(best, x[i]);
  return best;
}

/// The first place of a value that is there (of a NaN, if it is one).
template <class C>
int64_t first_place(const C* x, int64_t count, C value) {
  constexpr int64_t kBlock = 128;
  const bool is_nan = value != value;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t j = 0; j < kBlock; ++j)
      found |= static_cast<int>((x[i + j] == value) | ((x[i + j] != x[i + j]) & is_nan));
    if (found != 0) break;
  }
  while (i < count && !(x[i] == value || (is_nan && x[i] != x[i]))) ++i;
  return i;
}

/// values may be null.
template <bool greatest, class T>
void along_rows(T* values, int64_t* indices, const T* in, int64_t rows, int64_t n) {
  using C = Compute<T>;
  for_rows(rows, n, 1, [=](int64_t begin, int64_t end) {
    RowBuffer<T> buffer(n);
    for (int64_t r = begin; r < end; ++r) {
      const C* x = buffer.load(in + r * n, n);
      const int64_t place = first_place(x, n, best_of_row<greatest>(x, n));
      indices[r] = place;
      if (values) values[r] = in[r * n + place];
    }
  });
}

/// One long row: the best of pieces, found by several threads.
template <bool greatest, class T>
int64_t along_one_row(const T* in, int64_t n) {
  constexpr int64_t kPiece = 1 << 16;
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<int64_t> places(static_cast<size_t>(pieces));
  const auto value = std::make_unique<T[]>(static_cast<size_t>(pieces));
  for_rows(pieces, kPiece, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      along_rows<greatest>(value.get() + p, places.data() + p, in + p * kPiece, 1,
                           std::min(kPiece, n - p * kPiece));
    }
  });
  int64_t best = 0;
  for (int64_t p = 1; p < pieces; ++p) {
    if (is_better<greatest>(static_cast<Compute<T>>(value[p]),
                            static_cast<Compute<T>>(value[best])))
      best = p;
  }
  return best * kPiece + places[static_cast<size_t>(best)];
}

template <bool greatest, class T>
void along_columns(T* values, int64_t* indices, const T* in, const DimBlocks& blocks) {
  using C = Compute<T>;
  // Places as wide as elements, so that both fill vectors alike.
  using Place = std::conditional_t<sizeof(C) == 8, int64_t, int32_t>;
  constexpr int64_t kWidth = 512;
  check(blocks.size <= std::numeric_limits<int32_t>::max(), ErrorKind::runtime, "max: a dim of ",
        blocks.size, " elements is too long when it is not the innermost one");
  const int64_t per_outer = (blocks.inner + kWidth - 1) / kWidth;
  for_rows(blocks.outer * per_outer, blocks.size * std::min(kWidth, blocks.inner), 1,
           [&](int64_t begin, int64_t end) {
             RowBuffer<T> buffer(kWidth);
             for (int64_t task = begin; task < end; ++task) {
               const int64_t outer = task / per_outer, column = task % per_outer * kWidth;
               const int64_t width = std::min(kWidth, blocks.inner - column);
               const T* first = in + outer * blocks.size * blocks.inner + column;
               alignas(64) C best[kWidth];
               alignas(64) Place place[kWidth];
               const C* top = buffer.load(first, width);
               std::copy(top, top + width, best);
               std::fill(place, place + width, Place(0));
               for (int64_t r = 1; r < blocks.size; ++r) {
                 const C* x = buffer.load(first + r * blocks.inner, width);
                 const Place here = static_cast<Place>(r);
#pragma omp simd
                 for (int64_t c = 0; c < width; ++c) {
                   const bool takes = is_better<greatest>(x[c], best[c]);
                   best[c] = takes ? x[c] : best[c];
                   place[c] = takes ? here : place[c];
                 }
               }
               const int64_t out = outer * blocks.inner + column;
               for (int64_t c = 0; c < width; ++c) {
                 indices[out + c] = place[c];
                 if (values) values[out + c] = first[place[c] * blocks.inner + c];
               }
             }
           });
}

/// values: undefined, or where the extreme values go.
template <bool greatest>
void select(const char* op, const Tensor& values, const Tensor& indices, const Tensor& self,
            const std::optional<Dim>& dim) {
  if (indices.numel() == 0) return;
  const Tensor input = contiguous_data(self);
  visit_stored_ordered_dtype(self.dtype(), op, [&]<class T>() {
    const T* in = input.data<T>();
    int64_t* places = indices.data<int64_t>();
    T* out = values.defined() ? values.data<T>() : nullptr;
    const DimBlocks blocks = dim ? DimBlocks(self.sizes(), *dim) : DimBlocks(self.numel());
    if (blocks.inner > 1) return along_columns<greatest>(out, places, in, blocks);
    if (blocks.outer > 1) return along_rows<greatest>(out, places, in, blocks.outer, blocks.size);
    places[0] = along_one_row<greatest>(in, blocks.size);
    if (out) out[0] = in[places[0]];
  });
}

}  // namespace

void max_dim(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim, bool) {
  select<true>("max", values, indices, self, dim);
}
void min_dim(const Tensor& values, const Tensor& indices, const Tensor& self, Dim dim, bool) {
  select<false>("min", values, indices, self, dim);
}
void argmax(const Tensor& result, const Tensor& self, const std::optional<Dim>& dim, bool) {
  select<true>("argmax", Tensor(), result, self, dim);
}
void argmin(const Tensor& result, const Tensor& self, const std::optional<Dim>& dim, bool) {
  select<false>("argmin", Tensor(), result, self, dim);
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
