#include <algorithm>

#include "autograd/graph/accumulate.h"
#include "autograd/graph/forward_mode.h"
#include "autograd/graph/operations.h"
#include "autograd/graph/stand_in.h"
#include "autograd/graph/state.h"
#include "autograd/views/view.h"
#include "core/tensor/overlap.h"

namespace flambeau::autograd {

namespace {

/// First and last element, in units of the strides, relative to the geometry's origin.
struct Extent {
  int64_t low = 0, high = 0;
};

Extent extent_of(IntList sizes, IntList strides) {
  Extent extent;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t reach = (sizes[i] - 1) * strides[i];
    (reach < 0 ? extent.low : extent.high) += reach;
  }
  return extent;
}

Tensor with_geometry(const Tensor& memory, DType dtype, IntList sizes, IntList strides,
                     int64_t offset) {
  Tensor result = shallow_copy(memory);
  TensorImpl& impl = *result.impl();
  impl.dtype = dtype;
  impl.sizes = sizes;
  impl.strides = strides;
  impl.offset = offset;
  impl.refresh_geometry();
  return result;
}

bool is_empty(IntList sizes) { return std::find(sizes.begin(), sizes.end(), 0) != sizes.end(); }

/// A piece of memory laid out like the base's, seen as the base and as the view.
struct Image {
  Tensor base, view;
};

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// New memory, zero where neither reaches. `dense_base`: memory to use when the base is row-major
/// and contains the view.
Image make_image(const Slice& slice, Device device, Tensor dense_base = {}) {
  const auto base_size = static_cast<int64_t>(size_of(slice.base_dtype));
  const auto view_size = static_cast<int64_t>(size_of(slice.dtype));
  const Extent base =
      is_empty(slice.base_sizes) ? Extent{0, -1} : extent_of(slice.base_sizes, slice.base_strides);
  Extent view = extent_of(slice.sizes, slice.strides);
  view.low = (view.low + slice.offset) * view_size;
  view.high = (view.high + slice.offset + 1) * view_size;
  const bool inside = is_empty(slice.sizes) || (view.low >= base.low * base_size &&
                                                view.high <= (base.high + 1) * base_size);
  if (inside && Shape(slice.base_strides) == contiguous_strides(slice.base_sizes)) {
    Image image;
    image.base = dense_base.defined() ? std::move(dense_base)
                                      : empty(slice.base_sizes, slice.base_dtype, device);
    image.view = with_geometry(image.base, slice.dtype, slice.sizes, slice.strides,
                               image.base.offset() * base_size / view_size + slice.offset);
    return image;
  }
  int64_t low = base.low * base_size, high = (base.high + 1) * base_size;
  if (!inside) {
    low = std::min(low, view.low);
    high = std::max(high, view.high);
  }
  const int64_t unit = std::max(base_size, view_size);
  const int64_t before = ceil_divide(-low, unit);
  const Tensor memory = empty(Shape{before + ceil_divide(high, unit)},
                              base_size >= view_size ? slice.base_dtype : slice.dtype, device);
  fill_data(memory, 0);
  Image image;
  image.base = with_geometry(memory, slice.base_dtype, slice.base_sizes, slice.base_strides,
                             before * unit / base_size);
  image.view = with_geometry(memory, slice.dtype, slice.sizes, slice.strides,
                             before * unit / view_size + slice.offset);
  return image;
}

Tensor dense_copy(const Tensor& tensor) {
  Tensor copy = empty(tensor.sizes(), tensor.dtype(), tensor.device());
  copy_data(copy, tensor);
  return copy;
}

/// destination += source where several indices may be one element: split until none are.
void add_overlapping(const Tensor& destination, const Tensor& source) {
  if (!has_internal_overlap(destination)) {
    operations().add_in_place(destination, source);
    return;
  }
  const auto part = [](const Tensor& tensor, int64_t i) {
    Shape sizes = tensor.sizes(), strides = tensor.strides();
    const int64_t offset = tensor.offset() + i * strides[0];
    sizes.erase(0);
    strides.erase(0);
    return with_geometry(tensor, tensor.dtype(), sizes, strides, offset);
  };
  for (int64_t i = 0; i < destination.sizes()[0]; ++i) {
    add_overlapping(part(destination, i), part(source, i));
  }
}

Tensor gather_data(const Tensor& tensor, const Slice& slice) {
  if (tensor.is_contiguous()) {
    Image image = make_image(slice, tensor.device(), shallow_copy(tensor));
    if (image.base.storage() == tensor.storage()) return dense_copy(image.view);
    copy_data(image.base, tensor);
    return dense_copy(image.view);
  }
  const Image image = make_image(slice, tensor.device());
  copy_data(image.base, tensor);
  return dense_copy(image.view);
}

Tensor scatter_data(const Tensor& values, const Slice& slice) {
  const Image image = make_image(slice, values.device());
  fill_data(image.base, 0);
  if (has_internal_overlap(image.view)) {
    // A repeated dimension is summed at once; what still overlaps goes piece by piece.
    Shape sizes = slice.sizes;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (slice.strides[i] == 0 && sizes[i] > 1) sizes[i] = 1;
    }
    const GradMode no_grad(false);
    add_overlapping(
        with_geometry(image.view, slice.dtype, sizes, slice.strides, image.view.offset()),
        operations().sum_to(values, sizes));
  } else {
    copy_data(image.view, values);
  }
  return contiguous_data(image.base);
}

Tensor replace_data(Tensor tensor, const Tensor& values, const Slice& slice) {
  Tensor dense = owns_buffer(tensor) ? std::move(tensor) : dense_copy(tensor);
  const Image image = make_image(slice, dense.device(), dense);
  const bool in_place = image.base.storage() == dense.storage();
  if (!in_place) copy_data(image.base, dense);
  if (values.defined()) {
    copy_data(image.view, values);
  } else {
    fill_data(image.view, 0);
  }
  return in_place ? dense : contiguous_data(image.base);
}

// Of tensors that stand for batches: operators on places, which can be taken over ---------------

Tensor numbered(IntList sizes) {
  Tensor numbers = empty(sizes, DType::int64);
  auto* const data = static_cast<int64_t*>(numbers.raw_data());
  for (int64_t i = 0; i < numbers.numel(); ++i) data[i] = i;
  return numbers;
}

Image image_of_places(const Slice& slice) {
  check(slice.dtype == slice.base_dtype, ErrorKind::not_implemented,
        "vmap(): the gradient of a write into a view of another dtype, ", name(slice.dtype), " of ",
        name(slice.base_dtype), ", is not implemented for batches");
  Slice places = slice;
  places.dtype = places.base_dtype = DType::int64;
  return make_image(places, Device{});
}

/// Where in the base each element of the view lies; -1: outside.
Tensor places_in_base(const Slice& slice) {
  const Image image = image_of_places(slice);
  fill_data(image.view, -1);
  copy_data(image.base, numbered(slice.base_sizes));
  return dense_copy(image.view);
}

/// Which element of the view each of the base is; -1: none.
Tensor places_in_view(const Slice& slice) {
  const Image image = image_of_places(slice);
  check(!has_internal_overlap(image.view), ErrorKind::not_implemented,
        "vmap(): the gradient of a write into a view that overlaps itself is not implemented for "
        "batches");
  fill_data(image.base, -1);
  copy_data(image.view, numbered(slice.sizes));
  return dense_copy(image.base);
}

/// The slice in which what is repeated is there once.
Slice without_repeats(const Slice& slice) {
  Slice once = slice;
  for (size_t i = 0; i < once.sizes.size(); ++i) {
    if (once.strides[i] == 0 && once.sizes[i] > 1) once.sizes[i] = 1;
  }
  return once;
}

struct ScatterBackward final : Node {
  explicit ScatterBackward(SliceRef where) : slice(std::move(where)) {}
  const char* own_name() const override { return "ScatterSliceBackward"; }
  Gradients apply(Gradients&& gradients) override {
    return {gradients[0].defined() ? gather(gradients[0], slice) : Tensor()};
  }
  SliceRef slice;
};

struct GatherBackward final : Node {
  explicit GatherBackward(SliceRef where) : slice(std::move(where)) {}
  const char* own_name() const override { return "GatherSliceBackward"; }
  Gradients apply(Gradients&& gradients) override {
    return {gradients[0].defined() ? scatter(gradients[0], slice) : Tensor()};
  }
  SliceRef slice;
};

struct ReplaceBackward final : Node {
  explicit ReplaceBackward(SliceRef where) : slice(std::move(where)) {}
  const char* own_name() const override { return "ReplaceSliceBackward"; }
  Gradients apply(Gradients&& gradients) override {
    Gradients result(2);
    if (!gradients[0].defined()) return result;
    if (wants(1)) result[1] = gather(gradients[0], slice);
    if (wants(0)) result[0] = replace(std::move(gradients[0]), Tensor(), slice);
    return result;
  }
  SliceRef slice;
};

}  // namespace

SliceRef slice_of(const Tensor& view, const Tensor& base) {
  const auto base_size = static_cast<int64_t>(base.itemsize());
  const auto view_size = static_cast<int64_t>(view.itemsize());
  const int64_t bytes = view.offset() * view_size - base.offset() * base_size;
  return std::make_shared<const Slice>(Slice{base.sizes(), base.strides(), view.sizes(),
                                             view.strides(), base.dtype(), view.dtype(),
                                             bytes / view_size});
}

Tensor gather(const Tensor& tensor, const SliceRef& slice) {
  if (FLAMBEAU_UNLIKELY(may_stand_in(tensor))) {
    return operations().pick(tensor, places_in_base(*slice));
  }
  Tensor result = gather_data(tensor, *slice);
  if (FLAMBEAU_UNLIKELY(has_tangent(tensor))) {
    set_tangent(result, gather(tangent(tensor), slice));
  }
  if (grad_enabled() && requires_grad(tensor)) {
    auto node = make_ref<GatherBackward>(slice);
    node->add_input(tensor);
    set_history(result, node);
  }
  return result;
}

Tensor scatter(const Tensor& values, const SliceRef& slice) {
  if (FLAMBEAU_UNLIKELY(may_stand_in(values))) {
    const Slice once = without_repeats(*slice);
    return operations().pick(operations().sum_to(values, once.sizes), places_in_view(once));
  }
  Tensor result = scatter_data(values, *slice);
  if (FLAMBEAU_UNLIKELY(has_tangent(values))) {
    set_tangent(result, scatter(tangent(values), slice));
  }
  if (grad_enabled() && requires_grad(values)) {
    auto node = make_ref<ScatterBackward>(slice);
    node->add_input(values);
    set_history(result, node);
  }
  return result;
}

Tensor replace(Tensor tensor, const Tensor& values, const SliceRef& slice) {
  if (FLAMBEAU_UNLIKELY(may_stand_in(tensor) || (values.defined() && may_stand_in(values)))) {
    const Tensor places = places_in_view(without_repeats(*slice));
    Tensor inside;
    if (values.defined()) {
      inside = operations().pick(values, places);
    } else {
      inside = empty({}, tensor.dtype());
      fill_data(inside, 0);
    }
    return operations().choose(places, inside, tensor);
  }
  const bool forward = has_tangent(tensor) || has_tangent(values);
  const bool records = grad_enabled() && (requires_grad(tensor) || requires_grad(values));
  if (!forward && !records) return replace_data(std::move(tensor), values, *slice);
  Tensor result = replace_data(Tensor(tensor), values, *slice);
  if (forward) {
    Tensor base_tangent = tangent(tensor);
    if (!base_tangent.defined()) {
      base_tangent = empty(tensor.sizes(), tensor.dtype(), tensor.device());
      fill_data(base_tangent, 0);
    }
    set_tangent(result,
                replace(base_tangent, values.defined() ? tangent(values) : Tensor(), slice));
  }
  if (records) {
    auto node = make_ref<ReplaceBackward>(slice);
    node->add_input(tensor);
    node->add_input(values);
    set_history(result, node);
  }
  return result;
}

}  // namespace flambeau::autograd
