#include "python/objects/construct.h"

#include <type_traits>
#include <vector>

#include "autograd/graph/history.h"
#include "autograd/views/view.h"
#include "python/base/names.h"
#include "python/base/sequences.h"
#include "python/calls/define.h"
#include "python/calls/parser.h"
#include "python/calls/results.h"
#include "python/interop/interop.h"
#include "python/interop/numpy_types.h"

namespace flambeau::python {

namespace {

bool is_text(PyObject* value) { return PyUnicode_Check(value) || PyBytes_Check(value); }

/// Whether the data goes one level deeper here.
bool is_nested(PyObject* value) {
  if (PyList_Check(value) || PyTuple_Check(value)) return true;
  if (PyFloat_Check(value) || PyLong_Check(value) || is_tensor(value) || is_text(value) ||
      PyDict_Check(value) || is_numpy_scalar(value) || is_numpy_array(value)) {
    return false;
  }
  return PySequence_Check(value) != 0;
}

/// A tensor or array inside a sequence, as a tensor; undefined for everything else.
Tensor inner_tensor(PyObject* value, const char* op) {
  if (is_tensor(value)) return unwrap(value);
  if (is_numpy_array(value) || is_numpy_scalar(value)) return from_buffer(value, Sharing::copy, op);
  return Tensor();
}

DType dtype_of_leaf(PyObject* value, const char* op) {
  if (is_numpy_scalar(value) || is_tensor(value) || is_numpy_array(value)) {
    return inner_tensor(value, op).dtype();
  }
  if (PyBool_Check(value)) return DType::bool_;
  if (PyFloat_Check(value)) return default_dtype();
  if (PyComplex_Check(value)) return complex_dtype(default_dtype());
  if (PyLong_Check(value) || PyIndex_Check(value)) return DType::int64;
  fail(ErrorKind::type, op, "(): cannot make a tensor of ", describe_type(value),
       "; expected numbers, nested sequences of numbers, an array or a tensor");
}

[[noreturn]] void fail_depth(const char* op) {
  fail(ErrorKind::value, op, "(): the data is nested more than ", kMaxDims,
       " deep, or contains itself");
}

/// The dtype that holds every element.
class DTypeInference {
 public:
  explicit DTypeInference(const char* op) : op_(op) {}
  void visit(PyObject* value, int depth = 0) {
    if (!is_nested(value)) {
      add(dtype_of_leaf(value, op_));
      return;
    }
    if (depth == kMaxDims) fail_depth(op_);
    const PyRef items = list_or_tuple(value, op_);
    PyTypeObject* previous = nullptr;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      // A run of one plain number type is looked at once.
      if (Py_TYPE(item) == previous) continue;
      const bool plain = PyFloat_CheckExact(item) || PyLong_CheckExact(item) || PyBool_Check(item);
      previous = plain ? Py_TYPE(item) : nullptr;
      // Sequences may run Python code, which may change the list.
      const PyRef kept = PyRef::borrow(item);
      visit(item, depth + 1);
    }
  }
  DType result() const { return seen_ ? dtype_ : default_dtype(); }

 private:
  void add(DType dtype) {
    dtype_ = seen_ ? promote(dtype_, dtype) : dtype;
    seen_ = true;
  }
  const char* op_;
  DType dtype_ = DType::bool_;
  bool seen_ = false;
};

/// The shape that the first elements suggest; filling checks the others.
Shape shape_of(PyObject* data, const char* op) {
  Shape shape;
  PyRef current = PyRef::borrow(data);
  while (is_nested(current.get())) {
    if (shape.size() == kMaxDims) fail_depth(op);
    const PyRef items = list_or_tuple(current.get(), op);
    shape.push_back(PySequence_Fast_GET_SIZE(items.get()));
    if (shape.back() == 0) return shape;
    current = PyRef::borrow(PySequence_Fast_GET_ITEM(items.get(), 0));
  }
  if (const Tensor inner = inner_tensor(current.get(), op); inner.defined()) {
    for (const int64_t size : inner.sizes()) shape.push_back(size);
    if (shape.size() > kMaxDims) fail_depth(op);
  }
  return shape;
}

/// Writes nested data into a dense tensor.
class Filler {
 public:
  Filler(const Tensor& result, const char* op) : result_(result), op_(op), shape_(result.sizes()) {}

  void fill(PyObject* data) {
    switch (result_.dtype()) {
#define FLAMBEAU_CASE(name, type, ...)                          \
  case DType::name:                                             \
    fill_level(data, 0, result_.data<type>(), result_.numel()); \
    return;
      FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_CASE)
#undef FLAMBEAU_CASE
    }
  }

 private:
  std::string where(size_t level) const {
    std::string text;
    for (size_t i = 0; i < level; ++i) text += "[" + std::to_string(path_[i]) + "]";
    return text.empty() ? "" : " at data" + text;
  }

  template <class T>
  void fill_level(PyObject* data, size_t level, T* target, int64_t count) {
    if (level == shape_.size() || is_tensor(data) || is_numpy_array(data)) {
      fill_leaf(data, level, target);
      return;
    }
    const int64_t size = shape_[level];
    check(is_nested(data), ErrorKind::value, op_, "(): ragged data: expected a sequence of length ",
          size, where(level), ", got ", describe_type(data));
    const PyRef items = list_or_tuple(data, op_);
    check(PySequence_Fast_GET_SIZE(items.get()) == size, ErrorKind::value, op_,
          "(): ragged data: expected a sequence of length ", size, where(level), ", got length ",
          PySequence_Fast_GET_SIZE(items.get()));
    if (size == 0) return;
    const int64_t step = count / size;
    const bool last = level + 1 == shape_.size();
    path_.resize(std::max(path_.size(), level + 1));
    for (int64_t i = 0; i < size; ++i, target += step) {
      // Conversions may run Python code that shortens the list.
      check(i < PySequence_Fast_GET_SIZE(items.get()), ErrorKind::runtime, op_,
            "(): the data changed size while it was read");
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      if (last && store_plain(item, *target)) continue;
      path_[level] = i;
      const PyRef kept = PyRef::borrow(item);
      fill_level(item, level + 1, target, step);
    }
  }

  /// Exact floats and small ints into floating tensors, small ints into int64: no checks needed.
  template <class T>
  static bool store_plain(PyObject* item, T& target) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      if (PyFloat_CheckExact(item)) {
        target = static_cast<T>(PyFloat_AS_DOUBLE(item));
        return true;
      }
    }
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, int64_t>) {
      if (int64_t value; small_int(item, value)) {
        target = static_cast<T>(value);
        return true;
      }
    }
    return false;
  }

  template <class T>
  void fill_leaf(PyObject* data, size_t level, T* target) {
    if (is_tensor(data) || is_numpy_array(data)) {
      fill_tensor(inner_tensor(data, op_), level, target - result_.data<T>());
      return;
    }
    check(!is_nested(data) && is_number(data), is_nested(data) ? ErrorKind::value : ErrorKind::type,
          op_, "(): expected a number", where(level), ", got ", describe_type(data));
    const Scalar value = std::is_same_v<T, uint64_t> ? to_wide_scalar(data) : to_scalar(data);
    const DType dtype = result_.dtype();
    check(!value.is_complex() || is_complex(dtype), ErrorKind::type, op_, "(): the complex number ",
          value, where(level), " does not fit dtype ", dtype);
    if (!is_differentiable(dtype) && dtype != DType::bool_) value.check_fits(dtype, op_, "data");
    if constexpr (std::is_same_v<T, bool>) {
      *target = value.is_integral() ? value.to<int64_t>() != 0 : !value.equals(0);
    } else {
      *target = value.to<T>();
    }
  }

  void fill_tensor(const Tensor& inner, size_t level, int64_t offset) {
    const IntList rest = IntList(shape_).subspan(level);
    check(equal(inner.sizes(), rest), ErrorKind::value, op_, "(): ragged data: expected shape ",
          ShapeText{rest}, where(level), ", got a tensor of shape ", inner.sizes());
    copy_data(make_view(result_, rest, contiguous_strides(rest), offset), inner);
  }

  Tensor result_;
  const char* op_;
  Shape shape_;
  std::vector<int64_t> path_;
};

/// Objects of other libraries that know how to become a NumPy array (a pandas column, an image).
PyRef as_numpy_array(PyObject* data) {
  for (PyObject* protocol : {interned<"__array__">(), interned<"__array_interface__">()}) {
    if (!PyObject_HasAttr(data, protocol)) continue;
    const PyRef numpy = checked(PyImport_ImportModule("numpy"));
    return checked(PyObject_CallMethodOneArg(numpy.get(), interned<"asarray">(), data));
  }
  return PyRef();
}

bool is_plain_sequence(PyObject* data) {
  return PyList_Check(data) || PyTuple_Check(data) || PyFloat_Check(data) || PyLong_Check(data);
}

}  // namespace

Tensor move_to(const Tensor& tensor, Device device) {
  if (tensor.device().backend == device.backend &&
      (device.index < 0 || tensor.device().index == device.index)) {
    return tensor;
  }
  Tensor moved = empty(tensor.sizes(), tensor.dtype(), device);
  if (!device.is_meta()) copy_data(moved, tensor);
  return moved;
}

Tensor tensor_from_data(PyObject* data, std::optional<DType> dtype, Device device, const char* op) {
  if (is_tensor(data)) {
    const Tensor& source = unwrap(data);
    Tensor copy = empty(source.sizes(), dtype.value_or(source.dtype()), device);
    copy_data(copy, source);
    return copy;
  }
  check(!is_text(data), ErrorKind::type, op, "(): cannot make a tensor of ", describe_type(data),
        PyBytes_Check(data) ? "; use frombuffer() for raw bytes" : "");
  PyRef array;
  if (!is_plain_sequence(data)) {
    array =
        is_numpy_array(data) || is_numpy_scalar(data) ? PyRef::borrow(data) : as_numpy_array(data);
  }
  if (array) {
    Tensor copy = from_buffer(array.get(), Sharing::copy, op);
    if (dtype) copy = cast_data(copy, *dtype);
    return move_to(copy, device);
  }
  if (!dtype) {
    DTypeInference inference(op);
    inference.visit(data);
    dtype = inference.result();
  }
  const Tensor result = empty(shape_of(data, op), *dtype, Device{});
  Filler(result, op).fill(data);
  return move_to(result, device);
}

namespace {

/// Where a tensor of this data is made unless the caller says.
Device made_on(PyObject* data) {
  return is_tensor(data) ? unwrap(data).device() : default_device();
}

constexpr Parameter tensor_parameters[] = {{"data", Kind::object},
                                           {"dtype", Kind::dtype, "None", kKeywordOnly | kNone},
                                           {"device", Kind::device, "None", kKeywordOnly | kNone},
                                           FLAMBEAU_FACTORY_PARAMETERS};
constexpr Overload tensor_overloads[] = {{tensor_parameters, kFunction}};
constexpr Binding tensor_binding("tensor", tensor_overloads);

PyObject* tensor(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (active_modes > 0 || (count > 0 && is_tensor(args[0]) && !is_plain_tensor(args[0]))) {
      if (PyRef result = overridden(tensor_binding, nullptr, args, count, names)) {
        return result.release();
      }
    }
    if (count == 1 && !names) {
      return to_python(tensor_from_data(args[0], std::nullopt, made_on(args[0]), "tensor"));
    }
    Slots<6> slots;
    const Parsed in = parse(tensor_binding, nullptr, args, count, names, slots);
    const Device device = to_optional_device(in[2]).value_or(made_on(in[0]));
    return factory_result(tensor_from_data(in[0], to_optional_dtype(in[1]), device, "tensor"),
                          in[3]);
  });
}

constexpr Parameter as_tensor_parameters[] = {{"data", Kind::object},
                                              {"dtype", Kind::dtype, "None", kNone},
                                              {"device", Kind::device, "None", kNone}};

PyRef as_tensor(PyObject* data, std::optional<DType> dtype, std::optional<Device> device) {
  if (is_tensor(data)) {
    const Tensor& source = unwrap(data);
    if (dtype.value_or(source.dtype()) == source.dtype() &&
        device.value_or(source.device()) == source.device()) {
      return PyRef::borrow(data);
    }
    const PyRef target = checked(to_python(device.value_or(source.device())));
    const PyRef wanted = checked(to_python(dtype.value_or(source.dtype())));
    return PyRef(
        PyObject_CallMethodObjArgs(data, interned<"to">(), target.get(), wanted.get(), nullptr));
  }
  if (is_numpy_array(data)) {
    Tensor shared = from_buffer(data, Sharing::share, "as_tensor");
    if (dtype) shared = cast_data(shared, *dtype);
    return PyRef(to_python(move_to(shared, device.value_or(default_device()))));
  }
  return PyRef(
      to_python(tensor_from_data(data, dtype, device.value_or(default_device()), "as_tensor")));
}

constexpr Parameter subclass_parameters[] = {
    {"cls", Kind::object},
    {"data", Kind::tensor},
    {"requires_grad", Kind::boolean, "False", kRequiresGrad}};

PyTypeObject* to_tensor_type(PyObject* type, const char* op) {
  auto* found = reinterpret_cast<PyTypeObject*>(type);
  check(PyType_Check(type) && PyType_IsSubtype(found, tensor_type), ErrorKind::type, op,
        "(): expected a subclass of Tensor, got ",
        PyType_Check(type) ? found->tp_name : describe_type(type));
  return found;
}

PyRef make_subclass(PyObject* type, const Tensor& data) {
  return PyRef(wrap_as(to_tensor_type(type, "_make_subclass"), alias(data, true)));
}

constexpr Parameter as_subclass_parameters[] = {{"self", Kind::tensor}, {"cls", Kind::object}};

PyRef as_subclass(const Tensor& self, PyObject* type) {
  return PyRef(wrap_as(to_tensor_type(type, "as_subclass"), autograd::alias(self)));
}

/// What Tensor(*args) stands for: nothing, sizes, data.
Tensor tensor_of_arguments(PyObject* args) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count == 0) return empty(Shape{0}, default_dtype(), default_device());
  PyObject* first = PyTuple_GET_ITEM(args, 0);
  if (accepts(Parameter{"", Kind::integer}, first) && !is_tensor(first)) {
    check(accepts(Parameter{"", Kind::integers}, args), ErrorKind::type,
          "Tensor(): expected sizes (ints) or one sequence of data, got ", describe_type(args));
    return empty(IntListArgument(args), default_dtype(), default_device());
  }
  check(count == 1, ErrorKind::type, "Tensor(): expected one argument with the data, got ", count);
  if (is_tensor(first)) return alias(unwrap(first), true);
  check(is_nested(first) || is_numpy_array(first), ErrorKind::type,
        "Tensor(): expected sizes (ints) or a sequence of data, got ", describe_type(first),
        "; use tensor() for a single number");
  return tensor_from_data(first, default_dtype(), default_device(), "Tensor");
}

}  // namespace

PyObject* construct_tensor(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    check(!keywords || PyDict_GET_SIZE(keywords) == 0, ErrorKind::type, type->tp_name,
          "(): takes no keyword arguments; use flambeau.tensor(data, dtype=..., device=...)");
    return wrap_as(type, tensor_of_arguments(args));
  });
}

PyMethodDef construction_methods[] = {
    define_static<"_make_subclass", make_subclass, subclass_parameters>(
        "_make_subclass(cls, data, requires_grad=False)\n--\n\n"
        "An instance of a subclass on the storage of `data`, without its history."),
    define_method<"as_subclass", as_subclass, as_subclass_parameters>(
        "as_subclass(cls)\n--\n\n"
        "A view of all elements that is an instance of a subclass; gradients flow through it."),
    kNoMore};

PyMethodDef construction_functions[] = {
    {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor)),
     METH_FASTCALL | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\n"
     "A new tensor with a copy of `data`: a number, nested sequences of numbers, a NumPy array or\n"
     "a tensor. Without `dtype`, ints give int64, bools bool, floats the default dtype, complex\n"
     "numbers its complex counterpart, arrays keep theirs. Raises ValueError for ragged "
     "sequences,\n"
     "TypeError for other objects.\n\n"
     "Example:\n"
     "    >>> flambeau.tensor([[1, 2], [3, 4]])\n"
     "    tensor([[1, 2],\n"
     "            [3, 4]])\n"
     "    >>> flambeau.tensor([0.5, 1], requires_grad=True)\n"
     "    tensor([0.5000, 1.0000], requires_grad=True)"},
    define<"as_tensor", as_tensor, as_tensor_parameters>(
        "as_tensor(data, dtype=None, device=None)\n--\n\n"
        "Like tensor(), but shares memory with `data` when it is a tensor or a NumPy array that\n"
        "already has the dtype and the device."
        "\n\nExample:\n"
        "    >>> import numpy\n"
        "    >>> array = numpy.array([1.0, 2.0])\n"
        "    >>> shared = flambeau.as_tensor(array)\n"
        "    >>> array[0] = 5\n"
        "    >>> shared\n"
        "    tensor([5., 2.], dtype=flambeau.float64)"),
    kNoMore};

}  // namespace flambeau::python
