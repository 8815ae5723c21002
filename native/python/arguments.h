#pragma once

// clang-format off
/// How a generated binding reads its arguments.
///
/// An operator name has one C function per form, METH_FASTCALL | METH_KEYWORDS. It first tries
/// straight-line code for the common call: exact types, by position, or by keywords that follow
/// their positions, which Python lays out the same way. Everything else goes through
/// the Parser, which walks the table of overloads, fills one slot per parameter (null: not given)
/// and says which overload matched; then a switch converts the slots. Two operators, complete:
///
///   // add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1), variants function, method, out
///   static constexpr Parameter add_0[] = {
///       {"self", Kind::tensor},
///       {"other", Kind::operand},
///       {"alpha", Kind::scalar, "1", kKeywordOnly},
///       {"out", Kind::tensor, "None", kKeywordOnly | kNone}};  // see kOut
///   static constexpr Signature add_signatures[] = {{add_0, 4, kFunction | kMethod | kOut}};
///   static Parser add_parser("add", add_signatures);
///
///   static PyObject* add_call(const Parsed& in) {               // shared by both forms
///     const Tensor& self = to_tensor(in[0]);
///     const Operand other = to_operand(in[1]);
///     const Scalar alpha = to_scalar(in[2], 1);                 // slot, default
///     if (given(in[3])) {
///       released(work_of(self, other),
///                [&] { ops::add_out(to_tensor(in[3]), self, other, alpha); });
///       return Py_NewRef(in[3]);
///     }
///     return to_python(
///         released(work_of(self, other), [&] { return ops::add(self, other, alpha); }));
///   }
///   static PyObject* add_function(PyObject*, PyObject* const* args, Py_ssize_t n,
///                                 PyObject* names) {
///     return guarded([&]() -> PyObject* {
///       const Py_ssize_t by_position =
///           FLAMBEAU_LIKELY(!names) ? n : in_order(add_signatures[0], nullptr, n, names);
///       if (FLAMBEAU_LIKELY(by_position == 2)) {
///         const QuickOperand other(args[1]);
///         if (is_tensor(args[0]) && other) {
///           const Tensor& self = unwrap(args[0]);
///           return to_python(
///               released(work_of(self, *other), [&] { return ops::add(self, *other); }));
///         }
///       }
///       Slots<4> slots;
///       return add_call(add_parser.parse(nullptr, args, n, names, slots));
///     });
///   }
///   static PyObject* add_method(PyObject* self, PyObject* const* args, Py_ssize_t n,
///                               PyObject* names) {
///     return guarded([&]() -> PyObject* {
///       ... as above with unwrap(self) ...
///       Slots<4> slots;
///       return add_call(add_parser.parse(self, args, n, names, slots));   // self fills its slot
///     });
///   }
///   static PyObject* add_slot(PyObject* a, PyObject* b) {       // nb_add, see operator_slots.h
///     return binary_slot(a, b, [](const Tensor& x, const Operand& y) { return ops::add(x, y); },
///                        [](const Tensor& y, const Operand& x) { return ops::add(y, x); });
///   }
///   // add_(Tensor(mut) self, ...): { ops::add_(unwrap(self), ...); return written(self); }
///
///   // sum(Tensor self, *, dtype? dtype=None)
///   // sum.dim(Tensor self, int[]? dim, bool keepdim=False, *, dtype? dtype=None)
///   static constexpr Parameter sum_0[] = {
///       {"self", Kind::tensor}, {"dtype", Kind::dtype, "None", kKeywordOnly | kNone}};
///   static constexpr Parameter sum_1[] = {
///       {"self", Kind::tensor}, {"dim", Kind::integers, nullptr, kNone},
///       {"keepdim", Kind::boolean, "False"},
///       {"dtype", Kind::dtype, "None", kKeywordOnly | kNone},
///       {"out", Kind::tensor, "None", kKeywordOnly | kNone}};
///   static constexpr Signature sum_signatures[] = {
///       {sum_0, 2, kFunction | kMethod}, {sum_1, 5, kFunction | kMethod | kOut}};
///   static Parser sum_parser("sum", sum_signatures);
///   static PyObject* sum_call(const Parsed& in) {
///     const Tensor& self = to_tensor(in[0]);
///     switch (in.overload) {
///       case 0:
///         return to_python(
///             released(work_of(self), [&] { return ops::sum(self, to_optional_dtype(in[1])); }));
///       default: {
///         const OptionalIntListArgument dim(in[1]);  // owns the list while the call lasts
///         const bool keepdim = to_bool(in[2], false);
///         const std::optional<DType> dtype = to_optional_dtype(in[3]);
///         if (given(in[4])) { ...sum_dim_out(to_tensor(in[4]), self, dim, keepdim, dtype)... }
///         return to_python(released(
///             work_of(self), [&] { return ops::sum_dim(self, dim, keepdim, dtype); }));
///       }
///     }
///   }
///
/// A declared type, its Kind, its converter (slot; slot, default) and what it is passed as:
///
///   Tensor        tensor     to_tensor            const Tensor&
///   Tensor?       tensor     to_tensor            undefined for None or an empty slot; flag kNone
///   Tensor|Scalar operand    to_operand           Operand
///   Scalar        scalar     to_scalar            Scalar;         Scalar?  to_optional_scalar
///   int           integer    to_int               int64_t;        int?     to_optional_int
///   float         floating   to_double            double;         float?   to_optional_double
///   bool          boolean    to_bool              bool;           bool?    to_optional_bool
///   str           string     to_string            string_view;    str?     to_optional_string
///   dtype         dtype      to_dtype             DType;          dtype?   to_optional_dtype
///   device?       device     to_optional_device   optional<Device>
///   Generator?    generator  to_generator         Generator*
///   int[], int[N] integers   IntListArgument(slot, N or 0, IntList default), one int fills all N
///   int?[N]       integers   the same, flags kNone and kNoneElements: kNoInt stands for None
///   int[]?        integers   OptionalIntListArgument(slot, N or 0)
///   float[]       floats     FloatListArgument(slot, N);     bool[]   booleans  BoolListArgument
///   Tensor[]      tensors    TensorListArgument(slot);       Tensor?[] the same with kNoneElements
///
/// Results: results.h. An `?` type takes the flag kNone; a declared default other than None of an
/// optional type: `in[i] ? to_optional_int(in[i]) : std::optional<int64_t>(-1)`. Mutable tensors
/// are tensors. Factory functions: see factory_result() and FLAMBEAU_FACTORY_PARAMETERS in
/// results.h.
// clang-format on

#include <Python.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arguments.h"
#include "core/tensor.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/tensor_object.h"

namespace flambeau {
class Generator;
}

namespace flambeau::python {

/// What a parameter accepts.
enum class Kind : uint8_t {
  tensor,
  operand,
  scalar,
  integer,
  floating,
  boolean,
  string,
  dtype,
  device,
  generator,
  layout,
  integers,
  floats,
  booleans,
  tensors,
  object  ///< anything
};

enum ParameterFlags : uint8_t {
  kPlain = 0,
  kKeywordOnly = 1,
  kNone = 2,          ///< None is accepted
  kNoneElements = 4,  ///< the elements of the list may be None
  kSpread = 8,        ///< a list whose elements may be arguments each, f(a, b) for f([a, b])
  kTrue = 16,         ///< a bool that is True
  kFalse = 32,        ///< a bool that is False
};

struct Parameter {
  const char* name;
  Kind kind;
  const char* default_text = nullptr;  ///< as Python shows it; null: required
  uint8_t flags = kPlain;
  uint8_t length = 0;  ///< int[N]: N; 0: any
};

enum SignatureFlags : uint8_t {
  kFunction = 1,
  kMethod = 2,
  kOut = 4,  ///< a function with a parameter called out, which its method form does not have
};

/// One overload.
struct Signature {
  const Parameter* parameters;
  int count;
  uint8_t flags = kFunction | kMethod;
  int8_t receiver = 0;  ///< the parameter that a method's receiver fills; -1: it has none
  constexpr const Parameter& operator[](int i) const { return parameters[i]; }
};

/// One borrowed argument per parameter; null where none was given.
template <int count>
struct Slots {
  PyObject* values[count > 0 ? count : 1];
};

/// Which overload matched, and its slots.
class Parsed {
 public:
  Parsed(int overload, PyObject** slots, PyObject* packed)
      : overload(overload), slots_(slots), packed_(packed) {}
  PyObject* operator[](int i) const { return slots_[i]; }
  const int overload;

 private:
  PyObject** slots_;
  PyRef packed_;  // the tuple that x.view(2, 3) stands for
};

/// The overloads of one name, and the general way to bind arguments to them.
class FLAMBEAU_API Parser {
 public:
  /// `name` as users write it: "add", "nn.functional.silu".
  template <size_t count>
  constexpr Parser(const char* name, const Signature (&signatures)[count])
      : name_(name), signatures_(signatures), count_(static_cast<int>(count)) {}

  /// Throws PythonError(TypeError) with all signatures when none matches.
  template <int count>
  Parsed parse(PyObject* receiver, PyObject* const* args, Py_ssize_t arg_count, PyObject* names,
               Slots<count>& slots) const {
    return parse_into(receiver, args, arg_count, names, slots.values);
  }
  const char* name() const { return name_; }

 private:
  Parsed parse_into(PyObject* receiver, PyObject* const* args, Py_ssize_t arg_count,
                    PyObject* names, PyObject** slots) const;
  [[noreturn]] void refuse(PyObject* receiver, PyObject* const* args, Py_ssize_t arg_count,
                           PyObject* names, PyObject** slots) const;
  const char* name_;
  const Signature* signatures_;
  int count_;
};

/// How many arguments a call has by position, its keywords among them: they are, if they name the
/// parameters that follow, in order. Otherwise -1.
FLAMBEAU_API Py_ssize_t in_order(const Signature& signature, PyObject* receiver, Py_ssize_t count,
                                 PyObject* names);

/// Whether an optional argument was given, and is not None.
inline bool given(PyObject* slot) { return slot != nullptr && slot != Py_None; }

// Numbers --------------------------------------------------------------------------------------

namespace detail {
FLAMBEAU_API int64_t int_slow(PyObject* value);
FLAMBEAU_API double double_slow(PyObject* value);
FLAMBEAU_API bool bool_slow(PyObject* value);
FLAMBEAU_API Scalar scalar_slow(PyObject* value);
}  // namespace detail

/// The value of an exact int of one machine digit; false for others.
inline bool small_int(PyObject* value, int64_t& result) {
  if (!PyLong_CheckExact(value)) return false;
#if PY_VERSION_HEX >= 0x030C0000
  const auto* number = reinterpret_cast<const PyLongObject*>(value);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  result = PyUnstable_Long_CompactValue(number);
#else
  const Py_ssize_t size = Py_SIZE(value);
  if (static_cast<size_t>(size + 1) > 2) return false;
  result = size * static_cast<int64_t>(reinterpret_cast<const PyLongObject*>(value)->ob_digit[0]);
#endif
  return true;
}

inline int64_t to_int(PyObject* value) {
  int64_t result;
  return FLAMBEAU_LIKELY(small_int(value, result)) ? result : detail::int_slow(value);
}
inline double to_double(PyObject* value) {
  return PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : detail::double_slow(value);
}
inline bool to_bool(PyObject* value) {
  return value == Py_True || (value != Py_False && detail::bool_slow(value));
}
/// False unless the object is exactly a float, a small int or a bool.
inline bool quick_scalar(PyObject* value, Scalar& result) {
  if (PyFloat_CheckExact(value)) {
    result = Scalar(PyFloat_AS_DOUBLE(value));
    return true;
  }
  if (int64_t integer; small_int(value, integer)) {
    result = Scalar(integer);
    return true;
  }
  if (PyBool_Check(value)) {
    result = Scalar(value == Py_True);
    return true;
  }
  return false;
}
inline Scalar to_scalar(PyObject* value) {
  Scalar result;
  return FLAMBEAU_LIKELY(quick_scalar(value, result)) ? result : detail::scalar_slow(value);
}
/// Whether arithmetic takes it for a number: Python's and NumPy's scalars, not arrays.
FLAMBEAU_API bool is_number(PyObject* value);

inline int64_t to_int(PyObject* slot, int64_t otherwise) { return slot ? to_int(slot) : otherwise; }
inline double to_double(PyObject* slot, double otherwise) {
  return slot ? to_double(slot) : otherwise;
}
inline bool to_bool(PyObject* slot, bool otherwise) { return slot ? to_bool(slot) : otherwise; }
inline Scalar to_scalar(PyObject* slot, const Scalar& otherwise) {
  return slot ? to_scalar(slot) : otherwise;
}
inline std::optional<int64_t> to_optional_int(PyObject* slot) {
  return given(slot) ? std::optional<int64_t>(to_int(slot)) : std::nullopt;
}
inline std::optional<double> to_optional_double(PyObject* slot) {
  return given(slot) ? std::optional<double>(to_double(slot)) : std::nullopt;
}
inline std::optional<bool> to_optional_bool(PyObject* slot) {
  return given(slot) ? std::optional<bool>(to_bool(slot)) : std::nullopt;
}
inline std::optional<Scalar> to_optional_scalar(PyObject* slot) {
  return given(slot) ? std::optional<Scalar>(to_scalar(slot)) : std::nullopt;
}

// Tensors --------------------------------------------------------------------------------------

namespace detail {
FLAMBEAU_API extern const Tensor undefined;
}
inline const Tensor& to_tensor(PyObject* slot) {
  return given(slot) ? unwrap(slot) : detail::undefined;
}
inline Operand to_operand(PyObject* slot) {
  return is_tensor(slot) ? Operand(unwrap(slot)) : Operand(to_scalar(slot));
}
inline Operand to_operand(PyObject* slot, const Scalar& otherwise) {
  return slot ? to_operand(slot) : Operand(otherwise);
}

/// An Operand if the object is exactly a Tensor, float, small int or bool. Borrows the tensor.
class QuickOperand {
 public:
  explicit QuickOperand(PyObject* value) : operand_(Scalar()) {
    if (is_exact_tensor(value)) {
      operand_ = Operand(unwrap(value));
      ok_ = true;
    } else if (Scalar number; quick_scalar(value, number)) {
      operand_ = Operand(number);
      ok_ = true;
    }
  }
  explicit operator bool() const { return ok_; }
  const Operand& operator*() const { return operand_; }

 private:
  Operand operand_;
  bool ok_ = false;
};

class FLAMBEAU_API TensorListArgument {
 public:
  explicit TensorListArgument(PyObject* slot);
  operator TensorList() const { return tensors_; }  // NOLINT: implicit on purpose

 private:
  std::vector<Tensor> tensors_;
};
inline int64_t work_of(const TensorListArgument& list) {
  return python::work_of(static_cast<TensorList>(list));
}

// Lists of numbers -----------------------------------------------------------------------------

/// Reads a tuple or list of exact small ints, or all of `args` as such ints (x.view(2, 3)), one of
/// which stands for `length`; false when something else is among them.
FLAMBEAU_API bool quick_ints(PyObject* const* args, Py_ssize_t count, Shape& result,
                             int length = 1);

class FLAMBEAU_API IntListArgument {
 public:
  /// `length` > 0: one int stands for that many.
  explicit IntListArgument(PyObject* slot, int length = 0, IntList otherwise = {});
  operator IntList() const { return values_; }  // NOLINT: implicit on purpose

 private:
  Shape values_;
};

class OptionalIntListArgument {
 public:
  explicit OptionalIntListArgument(PyObject* slot, int length = 0) {
    if (given(slot)) values_.emplace(slot, length);
  }
  operator std::optional<IntList>() const {  // NOLINT: implicit on purpose
    return values_ ? std::optional<IntList>(static_cast<IntList>(*values_)) : std::nullopt;
  }

 private:
  std::optional<IntListArgument> values_;
};

class FLAMBEAU_API FloatListArgument {
 public:
  explicit FloatListArgument(PyObject* slot, int length = 1);
  operator std::span<const double>() const { return values_; }  // NOLINT

 private:
  std::vector<double> values_;
};

class FLAMBEAU_API BoolListArgument {
 public:
  explicit BoolListArgument(PyObject* slot);
  operator std::span<const bool>() const {  // NOLINT
    return {reinterpret_cast<const bool*>(values_.data()), values_.size()};
  }

 private:
  std::vector<char> values_;
};

// The rest -------------------------------------------------------------------------------------

FLAMBEAU_API DType to_dtype(PyObject* slot);
FLAMBEAU_API Device to_device(PyObject* slot);
FLAMBEAU_API std::string_view to_string(PyObject* slot);
/// Null for None and for an empty slot: the default generator.
FLAMBEAU_API Generator* to_generator(PyObject* slot);

inline DType to_dtype(PyObject* slot, DType otherwise) { return slot ? to_dtype(slot) : otherwise; }
inline std::string_view to_string(PyObject* slot, std::string_view otherwise) {
  return slot ? to_string(slot) : otherwise;
}
inline std::optional<DType> to_optional_dtype(PyObject* slot) {
  return given(slot) ? std::optional<DType>(to_dtype(slot)) : std::nullopt;
}
inline std::optional<Device> to_optional_device(PyObject* slot) {
  return given(slot) ? std::optional<Device>(to_device(slot)) : std::nullopt;
}
inline std::optional<std::string_view> to_optional_string(PyObject* slot) {
  return given(slot) ? std::optional<std::string_view>(to_string(slot)) : std::nullopt;
}

/// Whether the object is what `parameter` accepts (without None): what overloads are chosen by.
FLAMBEAU_API bool accepts(const Parameter& parameter, PyObject* value);
/// "Tensor", "int", "list of str": how messages name an argument's type.
FLAMBEAU_API std::string describe_type(PyObject* value);

}  // namespace flambeau::python
