#include "cpu/index/advanced.h"
#include "core/geometry/broadcast.h"
#include "cpu/index/place_offsets.h"

namespace flambeau::cpu {
namespace {

bool is_mask(const Tensor& index) {
  return index.dtype() == DType::bool_ || index.dtype() == DType::uint8;
}

/// Masks become the positions of their true elements, one tensor per dim.
std::vector<Tensor> without_masks(const Tensor& self, TensorList indices, const char* op) {
  std::vector<Tensor> plain;
  for (const Tensor& index : indices) {
    if (!index.defined() || !is_mask(index)) {
      plain.push_back(index.defined() ? dense_indices(index) : index);
      continue;
    }
    const size_t first = plain.size(), rank = static_cast<size_t>(index.dim());
    check(first + rank <= self.sizes().size(), ErrorKind::index, op, "(): too many indices for ",
          "shape ", self.sizes());
    for (size_t d = 0; d < rank; ++d) {
      check(index.sizes()[d] == self.sizes()[first + d], ErrorKind::index, op,
            "(): a mask of shape ", index.sizes(), " does not match shape ", self.sizes(),
            " at dim ", first);
    }
    const Tensor found = positions_of_nonzero(index);
    for (size_t d = 0; d < rank; ++d) {
      plain.push_back(contiguous_data(make_view(found, Shape{found.size(0)}, Shape{found.stride(0)},
                                                found.offset() + static_cast<int64_t>(d))));
    }
  }
  check(plain.size() <= self.sizes().size(), ErrorKind::index, op, "(): ", plain.size(),
        " indices for a tensor of shape ", self.sizes());
  plain.resize(self.sizes().size());
  return plain;
}

/// offsets[place] += wrapped index * stride; `first`: they are written, not added to.
void add_index(const Tensor& offsets, bool first, const Tensor& index, const Shape& shape,
               int64_t size, int64_t stride, int64_t dim, const char* op) {
  Shape strides(shape.size(), 0);
  const size_t lead = shape.size() - index.sizes().size();
  for (size_t d = lead; d < shape.size(); ++d) {
    strides[d] = index.sizes()[d - lead] == 1 ? 0 : index.strides()[d - lead];
  }
  const auto to_dense = first ? FLAMBEAU_PICK(write_offsets) : FLAMBEAU_PICK(add_offsets);
  const auto run = [&](int64_t* out, const int64_t* places, int64_t step, int64_t count) {
    if (step == 1 && to_dense(out, places, count, size, stride)) return;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t offset = wrap_index(places[i * step], size, dim, op) * stride;
      out[i] = first ? offset : out[i] + offset;
    }
  };
  int64_t* const out = offsets.data<int64_t>();
  const int64_t* const values = index.data<int64_t>();
  if (offsets.sizes() == index.sizes() && index.is_contiguous()) {
    parallel_for(0, index.numel(), kGrain, [&](int64_t begin, int64_t end) {
      run(out + begin, values + begin, 1, end - begin);
    });
    return;
  }
  const Rows<2> rows(shape, {IntList(offsets.strides()), IntList(strides)});
  rows.parallel([&](const std::array<int64_t, 2>& at) {
    run(out + at[0], values + at[1], rows.step(1), rows.length());
  });
}

}  // namespace

AdvancedIndex work_out(const Tensor& self, TensorList indices, const char* op) {
  const std::vector<Tensor> plain = without_masks(self, indices, op);
  Shape shape;
  size_t first = plain.size(), last = 0;
  bool adjacent = true;
  for (size_t d = 0; d < plain.size(); ++d) {
    if (!plain[d].defined()) continue;
    adjacent = adjacent && (first == plain.size() || last + 1 == d);
    first = std::min(first, d);
    last = d;
    shape = broadcast_shapes(shape, plain[d].sizes(), op);
  }
  AdvancedIndex found;
  for (size_t d = 0; d < plain.size(); ++d) {
    if (plain[d].defined()) continue;
    const bool in_front = adjacent && d < first;
    (in_front ? found.before : found.behind).push_back(self.sizes()[d]);
    (in_front ? found.before_strides : found.behind_strides).push_back(self.strides()[d]);
  }
  for (const int64_t size : found.before) found.result_sizes.push_back(size);
  for (const int64_t size : shape) found.result_sizes.push_back(size);
  for (const int64_t size : found.behind) found.result_sizes.push_back(size);
  found.places = checked_numel(shape, op);
  found.shape = shape;
  if (first == last && first < plain.size() && plain[first].is_contiguous()) {
    const int64_t dim = static_cast<int64_t>(first);
    found.only = OnlyIndex{plain[first],
                           plain[first].data<int64_t>(),
                           self.sizes()[first],
                           self.strides()[first],
                           dim,
                           op};
    return found;
  }
  found.offsets = flambeau::empty(shape, DType::int64, self.device());
  if (found.places == 0) return found;
  if (first == plain.size()) fill_data(found.offsets, 0);
  for (size_t d = first; d < plain.size(); ++d) {
    if (!plain[d].defined()) continue;
    add_index(found.offsets, d == first, plain[d], shape, self.sizes()[d], self.strides()[d],
              static_cast<int64_t>(d), op);
  }
  return found;
}

Tensor offsets_of(const AdvancedIndex& found) {
  if (!found.only) return found.offsets;
  const Tensor offsets = flambeau::empty(found.shape, DType::int64, found.only->index.device());
  int64_t* const out = offsets.data<int64_t>();
  const auto to_dense = FLAMBEAU_PICK(write_offsets);
  parallel_for(0, found.places, kGrain, [&](int64_t begin, int64_t end) {
    const OnlyIndex& only = *found.only;
    if (to_dense(out + begin, only.values + begin, end - begin, only.size, only.stride)) return;
    for (int64_t place = begin; place < end; ++place) out[place] = only.offset(place);
  });
  return offsets;
}

}  // namespace flambeau::cpu
