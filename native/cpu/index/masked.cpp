#include <numeric>
#include <vector>

#include "core/geometry/broadcast.h"
#include "core/threads/parallel.h"
#include "core/types/element_types.h"
#include "cpu/blocks.h"
#include "cpu/walk.h"
#include "kernels/indexing.h"

namespace flambeau::cpu {
namespace {

/// The tensor broadcast to a shape, without a copy.
Tensor expanded(const Tensor& tensor, const Shape& sizes) {
  Shape strides(sizes.size(), 0);
  const size_t lead = sizes.size() - tensor.sizes().size();
  for (size_t d = lead; d < sizes.size(); ++d) {
    strides[d] = tensor.sizes()[d - lead] == 1 ? 0 : tensor.strides()[d - lead];
  }
  return make_view(tensor, sizes, strides, tensor.offset());
}

int64_t count_true(const Boolean* mask, int64_t elements) {
  int64_t count = 0;
  for (int64_t i = 0; i < elements; ++i) count += mask[i] ? 1 : 0;
  return count;
}

/// The true elements of a dense mask, counted in parts that threads take.
class Chosen {
 public:
  explicit Chosen(const Tensor& mask)
      : mask_(mask.data<Boolean>()), strides_(mask.strides()), numel_(mask.numel()) {
    parts_ = std::clamp<int64_t>(numel_ / kGrain, 1, num_threads());
    before_.resize(static_cast<size_t>(parts_) + 1);
    parallel_for(0, parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        before(part + 1) = count_true(mask_ + first(part), first(part + 1) - first(part));
    });
    std::partial_sum(before_.begin(), before_.end(), before_.begin());
  }
  int64_t count() const { return before_.back(); }

  /// Calls body(element of the tensor, number) where the mask holds, numbered in row-major order
  /// up to what was counted: others may have changed the mask since.
  template <class T, class Body>
  void visit(const Tensor& tensor, int64_t count, const Body& body) const {
    if (tensor.numel() == 0) return;
    T* const data = tensor.data<T>();
    if (tensor.is_contiguous())
      return parallel_for(0, parts_, 1, [&](int64_t begin, int64_t end) {
        int64_t number = before_[static_cast<size_t>(begin)];
        const int64_t limit = std::min(count, before_[static_cast<size_t>(end)]);
        for (int64_t i = first(begin); i < first(end); ++i)
          if (mask_[i] && number < limit) body(data[i], number++);
      });
    const Rows<2> rows(tensor.sizes(), {IntList(tensor.strides()), IntList(strides_)});
    int64_t number = 0;
    rows.walk(0, rows.count(), [&](const std::array<int64_t, 2>& at) {
      for (int64_t i = 0; i < rows.length(); ++i)
        if (mask_[at[1] + i * rows.step(1)] && number < count)
          body(data[at[0] + i * rows.step(0)], number++);
    });
  }

 private:
  int64_t first(int64_t part) const { return numel_ * part / parts_; }
  int64_t& before(int64_t part) { return before_[static_cast<size_t>(part)]; }

  const Boolean* mask_;
  Shape strides_;
  int64_t numel_, parts_ = 1;
  std::vector<int64_t> before_;  // true elements in front of each part
};

}  // namespace

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  const Shape sizes = broadcast_shapes(self.sizes(), mask.sizes(), "masked_select");
  const Tensor values = expanded(self, sizes);
  const Tensor chosen = contiguous_data(expanded(mask, sizes));
  const Chosen places(chosen);
  const Tensor result = flambeau::empty(Shape{places.count()}, self.dtype(), self.device());
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const out = result.data<T>();
    places.visit<T>(values, places.count(), [=](const T& value, int64_t i) { out[i] = value; });
  });
  return result;
}

void masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const Tensor chosen = contiguous_data(expanded(mask, self.sizes()));
  const Chosen places(chosen);
  const int64_t count = places.count();
  check(count <= source.numel(), ErrorKind::runtime, "masked_scatter_(): the mask selects ", count,
        " elements, source of shape ", source.sizes(), " has only ", source.numel());
  const Tensor values = contiguous_data(source);
  with_size(static_cast<int64_t>(self.itemsize()), [&](auto element) {
    using T = decltype(element);
    const T* const from = values.data<T>();
    places.visit<T>(self, count, [=](T& place, int64_t i) { place = from[i]; });
  });
}

void masked_scatter_source_grad(const Tensor& result, const Tensor& grad_output, const Tensor& mask,
                                IntList) {
  fill_data(result, 0);
  const Tensor chosen = contiguous_data(expanded(mask, grad_output.sizes()));
  const Chosen places(chosen);
  with_size(static_cast<int64_t>(result.itemsize()), [&](auto element) {
    using T = decltype(element);
    T* const out = result.data<T>();
    places.visit<T>(grad_output, result.numel(),
                    [=](const T& value, int64_t i) { out[i] = value; });
  });
}

}  // namespace flambeau::cpu
