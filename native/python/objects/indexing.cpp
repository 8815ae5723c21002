#include "python/objects/indexing.h"

#include <algorithm>
#include <span>
#include <vector>

#include "autograd/views/view.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/view.h"
#include "python/base/sequences.h"
#include "python/calls/arguments.h"
#include "python/calls/overrides.h"
#include "python/calls/results.h"
#include "python/interop/interop.h"
#include "python/interop/numpy_types.h"
#include "python/objects/construct.h"

namespace flambeau::python {

namespace {

/// The parts of a key: the elements of a tuple, or the key itself.
std::span<PyObject* const> parts_of(PyObject* const& key) {
  if (!PyTuple_Check(key)) return {&key, 1};
  return {&PyTuple_GET_ITEM(key, 0), static_cast<size_t>(PyTuple_GET_SIZE(key))};
}

bool is_mask(const Tensor& index) {
  return index.dtype() == DType::bool_ || index.dtype() == DType::uint8;
}

/// A tensor, list or array that selects elements; undefined for other keys. Lists become tensors.
Tensor index_tensor(PyObject* part) {
  if (is_tensor(part)) return unwrap(part);
  if (is_numpy_array(part)) return from_buffer(part, Sharing::copy, "index");
  if (is_numpy_bool(part)) return tensor_from_data(part, std::nullopt, Device{}, "index");
  if (PyUnicode_Check(part) || PyBytes_Check(part) || !PySequence_Check(part)) return Tensor();
  if (length_of(part) == 0) return empty(Shape{0}, DType::int64);
  return tensor_from_data(part, std::nullopt, Device{}, "index");
}

/// The positions where a mask is true, one int64 tensor per dimension of the mask.
std::vector<Tensor> positions_of(const Tensor& mask) {
  const Tensor found = ops::argwhere(move_to(mask, Device{}));
  std::vector<Tensor> result;
  for (int64_t d = 0; d < mask.dim(); ++d) {
    result.push_back(contiguous_data(ops::select(found, 1, d)));
  }
  return result;
}

/// A key applied to a tensor: the view that its basic parts make, and the index tensors that remain
/// (undefined: the whole dimension).
class Selection {
 public:
  Selection(const Tensor& self, PyObject* const& key) : view_(self) {
    const std::span<PyObject* const> parts = parts_of(key);
    convert(parts);
    const int64_t specified = count_dimensions(parts);
    check(specified <= self.dim(), ErrorKind::index, "index: ", specified,
          " indices for a tensor of dimension ", self.dim(), " (shape ", self.sizes(), ")");
    hidden_ = self.dim() - specified;
    for (size_t i = 0; i < parts.size(); ++i) apply(parts[i], tensor_at(i));
  }
  const Tensor& view() const { return view_; }
  bool is_advanced() const { return !indices_.empty(); }
  TensorList indices() const { return indices_; }

 private:
  void convert(std::span<PyObject* const> parts) {
    for (size_t i = 0; i < parts.size(); ++i) {
      PyObject* part = parts[i];
      if (!PyLong_Check(part) && !PySlice_Check(part) && part != Py_None && part != Py_Ellipsis) {
        tensors_.resize(parts.size());
        tensors_[i] = index_tensor(part);
      }
    }
  }
  /// Undefined for parts that are no tensors; a key without tensors allocates none.
  const Tensor& tensor_at(size_t i) const {
    return tensors_.empty() ? detail::undefined : tensors_[i];
  }

  int64_t count_dimensions(std::span<PyObject* const> parts) const {
    int64_t count = 0, ellipses = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      PyObject* part = parts[i];
      if (part == Py_None || PyBool_Check(part)) continue;
      if (part == Py_Ellipsis) {
        ++ellipses;
      } else if (const Tensor& tensor = tensor_at(i); tensor.defined() && is_mask(tensor)) {
        count += tensor.dim();
      } else {
        ++count;
      }
    }
    return count;
  }

  void apply(PyObject* part, const Tensor& tensor) {
    if (part == Py_Ellipsis) {
      dim_ += std::exchange(hidden_, 0);
    } else if (part == Py_None) {
      view_ = ops::unsqueeze(view_, dim_++);
    } else if (PySlice_Check(part)) {
      slice(part);
    } else if (PyBool_Check(part)) {
      select_by_truth(part == Py_True);
    } else if (tensor.defined()) {
      select_by_tensor(tensor);
    } else {
      check(PyIndex_Check(part) && !PyFloat_Check(part), ErrorKind::index,
            "index: expected ints, slices, None, Ellipsis, bools, or tensors, lists and arrays of "
            "ints or bools, got ",
            describe_type(part));
      select(to_int(part));
    }
  }

  void select(int64_t index) {
    const int64_t size = view_.size(dim_);
    check(index >= -size && index < size, ErrorKind::index, "index ", index,
          " is out of bounds for dimension ", dim_, " with size ", size);
    view_ = ops::select(view_, dim_, index);
  }

  void slice(PyObject* part) {
    Py_ssize_t start, stop, step;
    checked(PySlice_Unpack(part, &start, &stop, &step));
    check(step > 0, ErrorKind::value, "index: the step of a slice must be positive, got ", step,
          "; use flip() to reverse");
    const int64_t size = view_.size(dim_);
    PySlice_AdjustIndices(size, &start, &stop, step);
    if (start != 0 || stop != size || step != 1) {
      view_ = ops::slice(view_, dim_, start, std::max(start, stop), step);
    }
    ++dim_;
  }

  void select_by_truth(bool truth) {
    view_ = ops::unsqueeze(view_, dim_);
    Tensor index = empty(Shape{truth ? 1 : 0}, DType::int64);
    fill_data(index, 0);
    record(index);
  }

  void select_by_tensor(const Tensor& tensor) {
    check(!is_differentiable(tensor.dtype()), ErrorKind::index,
          "index: tensors used as indices must hold ints or bools, got dtype ", tensor.dtype());
    if (tensor.dim() == 0) {
      if (is_mask(tensor)) {
        select_by_truth(item(tensor).to<bool>());
      } else {
        select(item(tensor).to<int64_t>());
      }
    } else if (is_mask(tensor)) {
      select_by_mask(tensor);
    } else {
      record(cast_data(tensor, DType::int64));
    }
  }

  void select_by_mask(const Tensor& mask) {
    for (int64_t i = 0; i < mask.dim(); ++i) {
      check(mask.size(i) == view_.size(dim_ + i), ErrorKind::index, "index: a mask of shape ",
            mask.sizes(), " at dimension ", dim_, " does not match the tensor of shape ",
            view_.sizes());
    }
    for (const Tensor& positions : positions_of(mask)) record(positions);
  }

  /// The next dimension is selected by `index`.
  void record(const Tensor& index) {
    indices_.resize(static_cast<size_t>(dim_) + 1);
    indices_.back() = move_to(index, view_.device());
    ++dim_;
  }

  Tensor view_;
  std::vector<Tensor> tensors_, indices_;
  int64_t dim_ = 0;     // of view_, where the next part applies
  int64_t hidden_ = 0;  // dimensions that an Ellipsis stands for
};

/// What is assigned: numbers and sequences become tensors of the destination's dtype. Leading
/// dimensions of size 1 go: there may be more than the destination has.
Tensor assigned_value(PyObject* value, const Tensor& destination) {
  if (!is_tensor(value)) {
    return tensor_from_data(value, destination.dtype(), destination.device(), "assignment");
  }
  Tensor tensor = unwrap(value);
  while (tensor.dim() > 0 && tensor.sizes()[0] == 1) tensor = ops::select(tensor, 0, 0);
  return tensor;
}

void assign(const Tensor& view, PyObject* value) {
  if (is_number(value)) {
    ops::fill_(view, to_scalar(value));
  } else {
    ops::copy_(view, assigned_value(value, view));
  }
}

void assign_indexed(const Selection& selection, PyObject* value) {
  const Tensor& view = selection.view();
  Tensor source = assigned_value(value, view);
  if (source.dtype() != view.dtype() || source.device() != view.device()) {
    source = move_to(ops::to_dtype(source, view.dtype()), view.device());
  }
  ops::index_put_(view, selection.indices(), source, false);
}

/// Whether somebody may want to be asked: any part of a key may be a tensor of another type.
bool asks_about(PyObject* self, PyObject* const& key) {
  const auto is_usual = [](PyObject* part) {
    return is_small_int(part) || PySlice_Check(part) || part == Py_None || part == Py_Ellipsis ||
           is_exact_tensor(part);
  };
  const std::span<PyObject* const> parts = parts_of(key);
  return asks(self) || !std::all_of(parts.begin(), parts.end(), is_usual);
}
/// What those who are asked make of `self[key]`, which a tuple stands for; null where nobody is.
template <class... Values>
PyRef overridden_item(const char* method, PyObject* self, PyObject* key, Values*... values) {
  PyObject* const args[] = {self, key, values...};
  return overridden(method, args);
}

}  // namespace

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    if (asks_about(self, key)) {
      if (PyRef result = overridden_item("__getitem__", self, key)) return result.release();
    }
    const Tensor& tensor = unwrap(self);
    if (int64_t index; FLAMBEAU_LIKELY(small_int(key, index) && tensor.dim() > 0)) {
      const int64_t size = tensor.sizes()[0];
      check(index >= -size && index < size, ErrorKind::index, "index ", index,
            " is out of bounds for dimension 0 with size ", size);
      return to_python(ops::select(tensor, 0, index));
    }
    const Selection selection(tensor, key);
    if (selection.is_advanced()) {
      const Tensor& view = selection.view();
      return to_python(
          released(work_of(view), [&] { return ops::index(view, selection.indices()); }));
    }
    // A key that selects everything still gives a tensor of its own.
    if (selection.view().is_same(tensor)) return to_python(autograd::alias(tensor));
    return to_python(selection.view());
  });
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_number<int>([&] {
    check(value != nullptr, ErrorKind::type, "Tensor: elements cannot be deleted");
    if ((asks_about(self, key) || may_override(value)) &&
        overridden_item("__setitem__", self, key, value)) {
      return 0;
    }
    const Selection selection(unwrap(self), key);
    if (selection.is_advanced()) {
      assign_indexed(selection, value);
    } else {
      assign(selection.view(), value);
    }
    note_written(self);
    return 0;
  });
}

}  // namespace flambeau::python
