#include "core/geometry/broadcast.h"
#include "core/tensor/overlap.h"
#include "cpu/blocks.h"
#include "cpu/dtype_switch.h"
#include "cpu/index/advanced.h"
#include "cpu/walk.h"
#include "kernels/gather.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

/// self[mask] = one value, without listing the places.
bool fill_masked(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  if (accumulate || indices.size() != 1 || !indices[0].defined() || values.numel() != 1) {
    return false;
  }
  const Tensor& mask = indices[0];
  if (mask.dtype() != DType::bool_ || !(mask.sizes() == self.sizes())) return false;
  if (may_overlap(self, mask)) return false;
  const Rows<2> rows(self.sizes(), {IntList(self.strides()), IntList(mask.strides())});
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    const T value = *values.data<T>();
    T* const to = self.data<T>();
    const auto* const chosen = mask.data<Boolean>();
    rows.parallel([&](const std::array<int64_t, 2>& at) {
      for (int64_t i = 0; i < rows.length(); ++i) {
        if (chosen[at[1] + i * rows.step(1)]) to[at[0] + i * rows.step(0)] = value;
      }
    });
  });
  return true;
}

/// Strides of `values` broadcast to `sizes`.
Shape broadcast_strides(const Tensor& values, IntList sizes) {
  check(broadcastable(values.sizes(), sizes) && values.sizes().size() <= sizes.size(),
        ErrorKind::runtime, "index_put_(): values of shape ", values.sizes(),
        " cannot be broadcast to the selection of shape ", ShapeText{sizes});
  const size_t lead = sizes.size() - values.sizes().size();
  Shape strides(sizes.size(), 0);
  for (size_t d = lead; d < sizes.size(); ++d) {
    const int64_t size = values.sizes()[d - lead];
    check(size == sizes[d] || size == 1, ErrorKind::runtime, "index_put_(): values of shape ",
          values.sizes(), " cannot be broadcast to the selection of shape ", ShapeText{sizes});
    strides[d] = size == 1 ? 0 : values.strides()[d - lead];
  }
  return strides;
}

/// write(out[i], from[i]) for columns [begin, end) of a block's innermost dim.
template <class T>
struct Line {
  int64_t out_step, from_step, begin, end;

  template <class Write>
  void run(T* out, const T* from, const Write& write) const {
    if (out_step == 1 && from_step == 1) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) write(out[i], from[i]);
    } else {
      for (int64_t i = begin; i < end; ++i) write(out[i * out_step], from[i * from_step]);
    }
  }
};

/// write(destination, value) for every selected element, in order: the last write to an element
/// stands, and sums have one order.
template <class T, class Write>
void put(const Tensor& self, const AdvancedIndex& found, const Tensor& values, const Write& write) {
  const Shape strides = broadcast_strides(values, found.result_sizes);
  if (checked_numel(found.result_sizes, "index_put_") == 0) return;
  const size_t front = found.before.size();
  const Tensor all_offsets = offsets_of(found);
  const size_t rank = found.shape.size();
  const auto part = [&](size_t begin, size_t end) {
    return Shape(IntList(strides).subspan(begin, end - begin));
  };
  Shape before_sizes = found.before, before_strides = found.before_strides;
  Shape value_strides = part(0, front);
  before_sizes.push_back(1);
  before_strides.push_back(0);
  value_strides.push_back(0);
  const Rows<2> before(before_sizes, {IntList(before_strides), IntList(value_strides)});
  const Shape place_strides = part(front, front + rank);
  const Rows<2> places(found.shape, {IntList(all_offsets.strides()), IntList(place_strides)});
  const Shape behind_values = part(front + rank, strides.size());
  const Rows<2> behind(found.behind, {IntList(found.behind_strides), IntList(behind_values)});
  const int64_t* const offsets = all_offsets.data<int64_t>();
  T* const to = self.data<T>();
  const T* const from = values.data<T>();
  const auto for_places = [&](const auto& body) {
    before.walk(0, before.count(), [&](const std::array<int64_t, 2>& outer) {
      places.walk(0, places.count(), [&](const std::array<int64_t, 2>& at) {
        const int64_t* const place = offsets + at[0];
        const T* const source = from + outer[1] + at[1];
        const int64_t place_step = places.step(0), step = places.step(1), count = places.length();
        for (int64_t i = 0; i < count; ++i)
          body(to + outer[0] + place[i * place_step], source + i * step);
      });
    });
  };
  if (behind.count() == 1 && behind.length() == 1) {
    return for_places([&](T* out, const T* source) { write(*out, *source); });
  }
  // Threads share out the columns of blocks, which keeps the order of writes.
  const int64_t length = behind.length();
  const int64_t blocks = before.count() * found.places * behind.count();
  const int64_t grain = std::max(kLeastColumns, kGrain / std::max<int64_t>(1, blocks));
  parallel_for(0, length, grain, [&](int64_t begin, int64_t end) {
    const Line<T> line{behind.step(0), behind.step(1), begin, end};
    for_places([&](T* out, const T* source) {
      behind.walk(0, behind.count(), [&](const std::array<int64_t, 2>& at) {
        line.run(out + at[0], source + at[1], write);
      });
    });
  });
}

/// Where the element lies that is number `place` in row-major order.
class PlaceInMemory {
 public:
  explicit PlaceInMemory(const Tensor& tensor)
      : sizes_(tensor.sizes()), strides_(tensor.strides()), is_dense_(tensor.is_contiguous()) {}
  int64_t operator()(int64_t place) const {
    if (is_dense_) return place;
    int64_t offset = 0;
    for (size_t d = sizes_.size(); d-- > 1; place /= sizes_[d])
      offset += place % sizes_[d] * strides_[d];
    return offset + place * strides_[0];
  }

 private:
  const Shape &sizes_, &strides_;
  bool is_dense_;
};

/// write(element, value) for each place, in order; nothing where one lies outside.
template <class T, class Write>
void put_at(const Tensor& self, const Tensor& index, const Tensor& source, const Write& write) {
  const PlaceInMemory lies(self);
  const int64_t count = index.numel(), size = self.numel();
  const int64_t* const places = index.data<int64_t>();
  const T* const values = source.data<T>();
  T* const elements = self.data<T>();
  for (int64_t i = 0; i < count; ++i) wrap_index(places[i], size, 0, "put_");
  for (int64_t i = 0; i < count; ++i)
    write(elements[lies(wrap_index(places[i], size, 0, "put_"))], values[i]);
}

/// Calls body.operator()<T>(write) for elements of type T, where write(element, value) adds to an
/// element or replaces it.
template <class Body>
void with_write(const Tensor& self, bool accumulate, const Body& body) {
  if (accumulate) {
    visit_stored_dtype(self.dtype(), [&]<class T>() {
      body.template operator()<T>([](T& sum, T value) { sum = plus(sum, value); });
    });
    return;
  }
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    body.template operator()<T>([](T& to, T value) { to = value; });
  });
}

}  // namespace

void put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  const Tensor places = contiguous_data(cast_data(index, DType::int64));
  const Tensor values = contiguous_data(source);
  with_write(self, accumulate,
             [&]<class T>(const auto& write) { put_at<T>(self, places, values, write); });
}

void index_put_(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  if (self.numel() != 0 && fill_masked(self, indices, values, accumulate)) return;
  const AdvancedIndex found = work_out(self, indices, "index_put_");
  with_write(self, accumulate,
             [&]<class T>(const auto& write) { put<T>(self, found, values, write); });
}

}  // namespace flambeau::cpu
