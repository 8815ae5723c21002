#include <algorithm>
#include <cstdlib>

#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "cpu/index/shared_rows.h"
#include "cpu/math.h"
#include "cpu/walk.h"
#include "kernels/gather.h"

#include "core/math/extrema.h"

namespace flambeau::cpu {
namespace {

constexpr int64_t kCost = 2;  // of an element

void check_rank(const Tensor& self, const Tensor& other, const char* what, const char* op) {
  check(std::max<int64_t>(other.dim(), 1) == std::max<int64_t>(self.dim(), 1), ErrorKind::runtime,
        op, "(): ", what, " must have as many dims as the tensor, got shapes ", other.sizes(),
        " and ", self.sizes());
}

/// A 0-d tensor counts as one of one element.
int64_t size_of_dim(const Tensor& tensor, int64_t dim) {
  return tensor.dim() == 0 ? 1 : tensor.size(dim);
}

void check_fits(const Tensor& self, const Tensor& index, const Tensor* src, int64_t dim,
                const char* op) {
  check_rank(self, index, "index", op);
  if (src) check_rank(self, *src, "src", op);
  for (int64_t d = 0; d < std::max<int64_t>(index.dim(), 1); ++d) {
    check(d == dim || size_of_dim(index, d) <= size_of_dim(self, d), ErrorKind::runtime, op,
          "(): index of shape ", index.sizes(), " reaches beyond the tensor of shape ",
          self.sizes(), " in dim ", d);
    check(!src || size_of_dim(index, d) <= size_of_dim(*src, d), ErrorKind::runtime, op,
          "(): index of shape ", index.sizes(), " reaches beyond src of shape ",
          (src ? *src : self).sizes(), " in dim ", d);
  }
}

Shape strides_or_zeros(const Tensor& tensor, int64_t rank, int64_t zero_dim) {
  Shape strides = tensor.dim() == rank ? tensor.strides() : Shape(static_cast<size_t>(rank), 0);
  if (zero_dim >= 0 && rank > 0) strides[static_cast<size_t>(zero_dim)] = 0;
  return strides;
}

/// The same in another order of dims.
Shape ordered(const Shape& values, const Shape& order) {
  Shape result = values;
  for (size_t i = 0; i < order.size(); ++i) result[i] = values[static_cast<size_t>(order[i])];
  return result;
}

/// The dims in an order in which neighbours in memory follow each other.
Shape order_of(const Shape& to, const Shape& index, const Shape& from) {
  Shape order = to;
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  const auto apart = [&](int64_t dim) {
    const auto d = static_cast<size_t>(dim);
    return std::abs(to[d]) + std::abs(index[d]) + std::abs(from[d]);
  };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return apart(a) != apart(b) ? apart(a) > apart(b) : a < b;
  });
  return order;
}

/// How the elements of a scatter lie: those written to but for their place along the dim, the
/// indices, and the source; and the dim that threads share out.
struct Layout {
  int64_t size, stride;  ///< of the dim that the indices are of
  Shape sizes, to, places, from;
  Shape order;  ///< of dims, as they lie in memory
  int64_t split = -1;

  Layout(const Tensor& self, Dim dim, const Tensor& index, const Tensor* src)
      : size(size_of_dim(self, dim)),
        stride(self.dim() == 0 ? 0 : self.stride(dim)),
        sizes(index.sizes()),
        to(strides_or_zeros(self, index.dim(), dim)),
        places(index.strides()),
        from(src ? strides_or_zeros(*src, index.dim(), -1)
                 : Shape(static_cast<size_t>(index.dim()), 0)) {
    Shape reached = to;
    if (!reached.empty()) reached[static_cast<size_t>(static_cast<int64_t>(dim))] = stride;
    order = order_of(reached, places, from);
    for (int64_t d = 0; d < index.dim(); ++d)
      if (d != dim && (split < 0 || index.size(d) > index.size(split))) split = d;
  }
  /// Whether rows in memory go to one place each, and threads would share out their columns.
  bool has_slices() const {
    const auto s = static_cast<size_t>(split);
    return split >= 0 && order[order.size() - 1] == split && places[s] == 0 && to[s] == 1 &&
           from[s] == 1;
  }
  Rows<3> rows(int64_t length_of_split) const {
    Shape parts = sizes;
    if (split >= 0) parts[static_cast<size_t>(split)] = length_of_split;
    const Shape in[] = {ordered(to, order), ordered(places, order), ordered(from, order)};
    return Rows<3>(ordered(parts, order), {IntList(in[0]), IntList(in[1]), IntList(in[2])});
  }
};

/// Shares out the work of a scatter: body(begin, end of the dim that is split, first and last place
/// along the dim of the indices).
template <class Body>
void in_parts(const Layout& layout, int64_t numel, const Body& body) {
  if (layout.split < 0) return body(0, 1, 0, layout.size);
  const int64_t columns = layout.sizes[static_cast<size_t>(layout.split)];
  const int64_t each = std::max<int64_t>(1, numel / columns);
  if (layout.has_slices())
    return share_rows(each, layout.size, columns, kCost, [&](const RowsPart& part) {
      body(part.first_column, part.last_column, part.first_place, part.last_place);
    });
  parallel_for(0, columns, std::max<int64_t>(1, kGrain / kCost / each),
               [&](int64_t begin, int64_t end) { body(begin, end, 0, layout.size); });
}

/// write(destination, source) for every place of `index`, in order along `dim`, so that the outcome
/// does not depend on the number of threads, nor on how memory lies.
template <class T, class Write>
void scatter_with(const Tensor& self, Dim dim, const Tensor& given_index, const T* source,
                  const Tensor* src, const char* op, const Write& write) {
  if (given_index.numel() == 0) return;
  check_fits(self, given_index, src, dim, op);
  const Tensor index = cast_data(given_index, DType::int64);
  const Layout layout(self, dim, index, src);
  const int64_t size = layout.size, stride = layout.stride;
  in_parts(layout, index.numel(), [&](int64_t begin, int64_t end, int64_t first, int64_t last) {
    const auto start = [&](const Shape& strides) {
      return layout.split < 0 ? 0 : begin * strides[static_cast<size_t>(layout.split)];
    };
    const Rows<3> rows = layout.rows(end - begin);
    T* const out = self.data<T>() + start(layout.to);
    const int64_t* const places = index.data<int64_t>() + start(layout.places);
    const T* const values = source + start(layout.from);
    rows.walk(0, rows.count(), [&](const std::array<int64_t, 3>& at) {
      T* const row = out + at[0];
      const T* const from_row = values + at[2];
      const int64_t* const place = places + at[1];
      const int64_t length = rows.length(), step = rows.step(1);
      const int64_t out_step = rows.step(0), from_step = rows.step(2);
      if (out_step == 0 && step == 1 && from_step == 1 && stride == 1) {
        return for_indices(place, 1, length, size, dim, op,
                           [&](int64_t i, int64_t to) { write(row[to], from_row[i]); });
      }
      if (step == 0 && out_step == 1 && from_step == 1) {
        return for_indices(place, 1, 1, size, dim, op, [&](int64_t, int64_t to) {
          if (to < first || to >= last) return;
          T* const target = row + to * stride;
#pragma omp simd
          for (int64_t i = 0; i < length; ++i) write(target[i], from_row[i]);
        });
      }
      for_indices(place, step, length, size, dim, op, [&](int64_t i, int64_t to) {
        write(row[i * out_step + to * stride], from_row[i * from_step]);
      });
    });
  });
}

/// NaN where either is, in the type that halves are computed in.
template <class T>
T larger(T a, T b) {
  return static_cast<T>(math::maximum(static_cast<Compute<T>>(a), static_cast<Compute<T>>(b)));
}
template <class T>
T smaller(T a, T b) {
  return static_cast<T>(math::minimum(static_cast<Compute<T>>(a), static_cast<Compute<T>>(b)));
}

/// Writes move bytes only.
template <class Body>
void with_element(const Tensor& self, const Body& body) {
  with_size(static_cast<int64_t>(self.itemsize()), body);
}

}  // namespace

void scatter_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& src) {
  with_element(self, [&](auto element) {
    using T = decltype(element);
    scatter_with<T>(self, dim, index, src.data<T>(), &src, "scatter_",
                    [](T& to, T from) { to = from; });
  });
}

void scatter__value(const Tensor& self, Dim dim, const Tensor& index, const Scalar& value) {
  value.check_fits(self.dtype(), "scatter_", "value");
  const Tensor number = flambeau::empty(Shape(), self.dtype(), self.device());
  fill_data(number, value);
  with_element(self, [&](auto element) {
    using T = decltype(element);
    scatter_with<T>(self, dim, index, number.data<T>(), nullptr, "scatter_",
                    [](T& to, T from) { to = from; });
  });
}

void scatter_add_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& src) {
  visit_stored_dtype(self.dtype(), [&]<class T>() {
    scatter_with<T>(self, dim, index, src.data<T>(), &src, "scatter_add_",
                    [](T& to, T from) { to = plus(to, from); });
  });
}

void scatter_prod_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& src) {
  visit_dtype(self.dtype(), [&]<class T>() {
    scatter_with<T>(self, dim, index, src.data<T>(), &src, "scatter_reduce",
                    [](T& to, T from) { to = times(to, from); });
  });
}

void scatter_extrema_(const Tensor& self, Dim dim, const Tensor& index, const Tensor& src,
                      bool greatest) {
  visit_ordered_dtype(self.dtype(), "scatter_reduce", [&]<class T>() {
    const auto meet = [&](const auto& write) {
      scatter_with<T>(self, dim, index, src.data<T>(), &src, "scatter_reduce", write);
    };
    if (greatest)
      meet([](T& to, T from) { to = larger(to, from); });
    else
      meet([](T& to, T from) { to = smaller(to, from); });
  });
}

}  // namespace flambeau::cpu
