#pragma once

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/base/assert.h"
#include "python/calls/arguments.h"
#include "python/calls/calls.h"
#include "python/calls/overrides.h"
#include "python/calls/records.h"
#include "python/calls/results.h"
#include "python/objects/dtype_object.h"

/// How C++ functions take arguments from slots and hand their results to Python. All of it follows
/// from the type of the function, so that those of one type share one instance.
namespace flambeau::python {

/// How a value is read from an object, and from a default.
template <class T>
struct Reader;
template <>
struct Reader<int64_t> {
  static int64_t read(PyObject* object) { return to_int(object); }
  static int64_t read(const Default& value) { return value.integer(); }
};
template <>
struct Reader<double> {
  static double read(PyObject* object) { return to_double(object); }
  static double read(const Default& value) { return value.floating(); }
};
template <>
struct Reader<bool> {
  static bool read(PyObject* object) { return to_bool(object); }
  static bool read(const Default& value) { return value.integer() != 0; }
};
template <>
struct Reader<std::string_view> {
  static std::string_view read(PyObject* object) { return to_string(object); }
  static std::string_view read(const Default& value) { return value.text(); }
};
template <>
struct Reader<Scalar> {
  static Scalar read(PyObject* object) { return to_scalar(object); }
  static Scalar read(const Default& value) {
    return value.holds() == Default::Holds::floating ? Scalar(value.floating())
                                                     : Scalar(value.integer());
  }
};
template <>
struct Reader<DType> {
  static DType read(PyObject* object) { return to_dtype(object); }
};
template <>
struct Reader<Device> {
  static Device read(PyObject* object) { return to_device(object); }
};
template <>
struct Reader<Generator*> {
  static Generator* read(PyObject* object) { return to_generator(object); }
  static Generator* read(const Default&) { return nullptr; }
};
template <>
struct Reader<PyObject*> {
  static PyObject* read(PyObject* object) { return object; }
  static PyObject* read(const Default&) { return Py_None; }
};
template <class T>
struct Reader<std::optional<T>> {
  static std::optional<T> read(PyObject* object) {
    return object == Py_None ? std::nullopt : std::optional<T>(Reader<T>::read(object));
  }
  static std::optional<T> read(const Default& value) {
    if constexpr (requires { Reader<T>::read(value); }) {
      if (value) return Reader<T>::read(value);
    }
    return std::nullopt;
  }
};

/// Nothing, where it has lain for long: to copy what was just written in parts takes more time than
/// the rest of reading an argument.
template <class T>
inline const std::optional<T> kNothing;

/// An argument of type T while a call lasts. `value()` is what is passed, `work()` how many
/// elements it adds to the work of the call.
template <class T>
class Argument {
 public:
  explicit Argument(const Slot& slot) : value_(from(slot)) {}
  T value() const {
    if constexpr (requires(T t) { t.has_value(); } && sizeof(T) > 2 * sizeof(void*)) {
      return value_ ? value_ : kNothing<typename T::value_type>;
    }
    return value_;
  }
  int64_t work() const { return 0; }

 private:
  static T from(const Slot& slot) {
    if constexpr (requires { Reader<T>::read(slot.parameter->otherwise); }) {
      if (slot.count == 0) return Reader<T>::read(slot.parameter->otherwise);
    }
    return Reader<T>::read(*slot.objects);
  }
  T value_;
};
template <>
class Argument<const Scalar&> {
 public:
  explicit Argument(const Slot& slot)
      : value_(slot.count ? to_scalar(*slot.objects)
                          : Reader<Scalar>::read(slot.parameter->otherwise)) {}
  const Scalar& value() const { return value_; }
  int64_t work() const { return 0; }

 private:
  const Scalar value_;
};

template <>
class Argument<const Tensor&> {
 public:
  explicit Argument(const Slot& slot)
      : value_(slot.count ? to_tensor(*slot.objects) : detail::undefined) {}
  const Tensor& value() const { return value_; }
  int64_t work() const { return work_of(value_); }

 private:
  const Tensor& value_;
};

template <>
class Argument<const Operand&> {
 public:
  explicit Argument(const Slot& slot)
      : value_(slot.count ? to_operand(*slot.objects)
                          : Operand(Reader<Scalar>::read(slot.parameter->otherwise))) {}
  const Operand& value() const { return value_; }
  int64_t work() const { return work_of(value_); }

 private:
  const Operand value_;
};

/// A list that lives while the call lasts; `Held` reads it from a slot.
template <class List, class Held>
class ListArgument {
 public:
  explicit ListArgument(const Slot& slot) : held_(slot) {}
  List value() const { return held_; }
  int64_t work() const {
    if constexpr (std::is_same_v<List, TensorList>) return work_of(value());
    return 0;
  }

 private:
  const Held held_;
};
#define FLAMBEAU_LIST_ARGUMENT(List, Held)                 \
  template <>                                              \
  class Argument<List> : public ListArgument<List, Held> { \
    using ListArgument::ListArgument;                      \
  }
FLAMBEAU_LIST_ARGUMENT(IntList, IntListArgument);
FLAMBEAU_LIST_ARGUMENT(std::span<const double>, FloatListArgument);
FLAMBEAU_LIST_ARGUMENT(std::span<const bool>, BoolListArgument);
FLAMBEAU_LIST_ARGUMENT(TensorList, TensorListArgument);
#undef FLAMBEAU_LIST_ARGUMENT

template <>
class Argument<std::optional<std::span<const double>>> {
 public:
  explicit Argument(const Slot& slot) : list_(slot) {
    if (slot.count > 0 && *slot.objects != Py_None) value_ = list_;
  }
  std::optional<std::span<const double>> value() const { return value_; }
  int64_t work() const { return 0; }

 private:
  const FloatListArgument list_;
  std::optional<std::span<const double>> value_;
};

template <>
class Argument<std::optional<IntList>> {
 public:
  explicit Argument(const Slot& slot) : list_(slot) {
    if (slot.count > 0 ? *slot.objects != Py_None : static_cast<bool>(slot.parameter->otherwise)) {
      value_ = list_;
    }
  }
  const std::optional<IntList>& value() const { return value_ ? value_ : kNothing<IntList>; }
  int64_t work() const { return 0; }

 private:
  const IntListArgument list_;
  std::optional<IntList> value_;
};

/// Whether an object has the exact type that callers mostly give for a T: the parser takes it then.
template <class T>
struct Exact {
  static bool is(PyObject*) { return false; }
};
template <class T>
struct Exact<std::optional<T>> : Exact<T> {};
template <>
struct Exact<const Tensor&> {
  static bool is(PyObject* object) { return is_plain_tensor(object); }
};
template <>
struct Exact<const Operand&> {
  static bool is(PyObject* object) { return is_exact_tensor(object) || is_exact_number(object); }
};
template <>
struct Exact<Scalar> {
  static bool is(PyObject* object) { return is_exact_number(object); }
};
template <>
struct Exact<const Scalar&> : Exact<Scalar> {};
template <>
struct Exact<int64_t> {
  static bool is(PyObject* object) { return is_small_int(object); }
};
template <>
struct Exact<double> {
  static bool is(PyObject* object) { return is_exact_number(object); }
};
template <>
struct Exact<bool> {
  static bool is(PyObject* object) { return PyBool_Check(object); }
};
template <>
struct Exact<DType> {
  static bool is(PyObject* object) { return Py_TYPE(object) == dtype_type; }
};
template <>
struct Exact<std::string_view> {
  static bool is(PyObject* object) { return PyUnicode_CheckExact(object); }
};
template <>
struct Exact<PyObject*> {
  static bool is(PyObject*) { return true; }
};
template <>
struct Exact<IntList> {
  static bool is(PyObject* object) {
    return is_small_int(object) || is_list_of(object, is_small_int);
  }
};
template <>
struct Exact<TensorList> {
  static bool is(PyObject* object) { return is_list_of(object, is_exact_tensor); }
};

template <class F>
struct FunctionOf;

/// A function of one type. What writes into an argument returns a reference to it.
template <class Result, class... Types>
struct FunctionOf<Result(Types...)> : Function {
  constexpr explicit FunctionOf(Result (*pointer)(Types...))
      : Function{&call, &enter}, pointer(pointer) {}

  Result (*const pointer)(Types...);

 private:
  using Indices = std::index_sequence_for<Types...>;

  /// After a general parse, beside which its size counts more than its speed.
  [[gnu::cold]] static PyObject* call(const Function& function, const Overload& overload,
                                      const Slot* slots) {
    return run(
        function, overload, [=](size_t i) -> const Slot& { return slots[i]; }, Indices());
  }
  static PyObject* enter(PyObject* receiver, PyObject* const* args, Py_ssize_t given,
                         PyObject* names, const Binding& binding) noexcept {
    const Overload& overload = binding.overloads.front();
    const Py_ssize_t count = FLAMBEAU_LIKELY(!names)
                                 ? given
                                 : detail::in_order(overload, receiver != nullptr, given, names);
    const auto slot_at = [&](size_t i) -> Slot {
      const auto place = static_cast<Py_ssize_t>(i) - (receiver != nullptr);
      if (place < 0) return {&receiver, 1, &overload[0]};
      return {args + place, place < count, &overload[static_cast<int>(i)]};
    };
    if (FLAMBEAU_LIKELY(overload.takes_directly(receiver != nullptr, count)) &&
        FLAMBEAU_LIKELY(fit(slot_at, Indices())) && FLAMBEAU_LIKELY(active_modes == 0) &&
        FLAMBEAU_LIKELY(!receiver || is_plain_tensor(receiver))) {
      FLAMBEAU_ASSERT(detail::is_parsed_too(overload, receiver, args, given, names, binding));
      return guarded(binding.name, !receiver, [&]() -> PyObject* {
        return run(*overload.function, overload, slot_at, Indices());
      });
    }
    return detail::call_binding(receiver, args, given, names, binding);
  }

  template <class Source, size_t... indices>
  FLAMBEAU_INLINE static bool fit(const Source& slot_at, std::index_sequence<indices...>) {
    return (fits<Types>(slot_at(indices)) && ...);
  }
  template <class T>
  FLAMBEAU_INLINE static bool fits(const Slot& slot) {
    return slot.count == 0 || FLAMBEAU_LIKELY(Exact<T>::is(*slot.objects)) ||
           (*slot.objects == Py_None && (slot.parameter->flags & kNone));
  }

  /// Arguments are read in order: the first that cannot be read is the one that is refused.
  template <class Source, size_t... indices>
  FLAMBEAU_INLINE static PyObject* run(const Function& function, const Overload& overload,
                                       [[maybe_unused]] const Source& slot_at,
                                       std::index_sequence<indices...>) {
    const auto pointer = static_cast<const FunctionOf&>(function).pointer;
    return Call{pointer, overload, Argument<Types>(slot_at(indices))...}.result;
  }

  static constexpr bool kKeepsGil =
      std::is_same_v<Result, PyRef> || (std::is_same_v<Types, PyObject*> || ...);

  struct Call {
    FLAMBEAU_INLINE Call(Result (*pointer)(Types...), const Overload& overload,
                         const Argument<Types>&... arguments)
        : result(to_python(overload, [&]() -> Result {
            // Sparse tensors may count more elements than two of them can together.
            [[maybe_unused]] constexpr int64_t kMuch = int64_t{1} << 56;
            const ReleaseGil release(
                kKeepsGil ? 0 : (int64_t{0} + ... + std::min<int64_t>(arguments.work(), kMuch)));
            return pointer(arguments.value()...);
          })) {}
    PyObject* const result;
  };

  template <class Body>
  FLAMBEAU_INLINE static PyObject* to_python([[maybe_unused]] const Overload& overload,
                                             const Body& body) {
    if constexpr (std::is_void_v<Result>) {
      body();
      Py_RETURN_NONE;
    } else if constexpr (std::is_reference_v<Result>) {
      return written(object_of(body()));
    } else if constexpr (requires { overload.result->make(body()); }) {
      return overload.result ? overload.result->make(body()) : python::to_python(body());
    } else {
      return python::to_python(body());
    }
  }
};

/// The record of a function of C++.
template <auto& pointer>
inline constexpr FunctionOf<std::remove_reference_t<decltype(pointer)>> function(pointer);

}  // namespace flambeau::python
