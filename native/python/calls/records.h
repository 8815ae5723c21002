#pragma once

#include <Python.h>

#include <cstdint>
#include <span>

/// What a function of Python is, as data that the compiler lays out: its overloads, their
/// parameters and the C++ functions behind them. The generated bindings are such records and
/// nothing else; calls.h reads them. Two operators, complete:
///
///   // add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1), variants function, method, out
///   constexpr Parameter add_0[] = {
///       {"self", Kind::tensor},
///       {"other", Kind::operand},
///       {"alpha", Kind::scalar, {"1", 1}, kKeywordOnly},
///       {"out", Kind::tensor, "None", kKeywordOnly | kNone | kOut}};
///   constexpr Overload add_overloads[] = {
///       {add_0, kFunction | kMethod, 0, &function<ops::add>, &function<ops::add_out>}};
///   extern constexpr Binding add_binding{"add", add_overloads};
///
///   // max(Tensor self), max.dim(Tensor self, int dim, bool keepdim=False) -> (values, indices),
///   // which has the variant out too
///   constexpr Parameter max_0[] = {{"self", Kind::tensor}};
///   constexpr Parameter max_1[] = {
///       {"self", Kind::tensor}, {"dim", Kind::integer}, {"keepdim", Kind::boolean, {"False",
///       false}}, {"out", Kind::tensors, "None", kKeywordOnly | kNone | kOut, 2}};
///   NamedResult max_dim_result("max", {"values", "indices"});
///   constexpr Overload max_overloads[] = {
///       {max_0, kFunction | kMethod, 0, &function<ops::max>},
///       {max_1, kFunction | kMethod, 0, &function<ops::max_dim>, &function<ops::max_dim_out>,
///        &max_dim_result}};
///   extern constexpr Binding max_binding{"max", max_overloads};
namespace flambeau::python {

class NamedResult;

/// What a parameter accepts, and the C++ parameter that it becomes; that of an `?` type is an
/// optional of it (of a tensor: an undefined one), and takes the flag kNone.
enum class Kind : uint8_t {
  tensor,         ///< const Tensor&
  operand,        ///< const Operand&
  scalar,         ///< const Scalar&
  integer,        ///< int64_t
  floating,       ///< double
  boolean,        ///< bool
  string,         ///< std::string_view
  dtype,          ///< DType
  device,         ///< Device
  generator,      ///< Generator*
  layout,         ///< nothing: tensors have one
  memory_format,  ///< std::string_view, its name
  integers,       ///< IntList; one int stands for all of a list of fixed length
  floats,         ///< std::span<const double>
  booleans,       ///< std::span<const bool>
  tensors,        ///< TensorList
  object          ///< anything
};

enum ParameterFlags : uint16_t {
  kPlain = 0,
  kKeywordOnly = 1,
  kNone = 2,            ///< None is accepted
  kNoneElements = 4,    ///< the elements of the list may be None: kNoInt, undefined tensors
  kSpread = 8,          ///< a list whose elements may be arguments each, f(a, b) for f([a, b])
  kTrue = 16,           ///< a bool that is True: another value means another overload
  kFalse = 32,          ///< a bool that is False
  kInplace = 64,        ///< True asks for the form that writes into its argument
  kOut = 128,           ///< what is written into: a tensor, or one per result; methods have none
  kRequiresGrad = 256,  ///< what the result is set to require
  kIgnored = 512,       ///< says what is true already
  kSparse = 1024,       ///< a tensor of layout sparse_coo; without it and the next, a strided one
  kAnyLayout = 2048,    ///< a tensor of any layout
};
/// What the C++ function is not given.
inline constexpr uint16_t kApart = kTrue | kFalse | kInplace | kOut | kRequiresGrad | kIgnored;

/// What stands for an argument that is not given: as Python shows it, and its value.
class Default {
 public:
  enum class Holds : uint8_t { nothing, integer, floating, text, integers };
  constexpr Default() = default;
  constexpr Default(const char* shown) : shown_(shown) {}  // "None"
  constexpr Default(const char* shown, bool value) : Default(shown, static_cast<int>(value)) {}
  constexpr Default(const char* shown, int value) : Default(shown, int64_t{value}) {}
  constexpr Default(const char* shown, int64_t value)
      : shown_(shown), integer_(value), holds_(Holds::integer) {}
  constexpr Default(const char* shown, double value)
      : shown_(shown), floating_(value), holds_(Holds::floating) {}
  constexpr Default(const char* shown, const char* value)
      : shown_(shown), text_(value), holds_(Holds::text) {}
  template <size_t count>
  constexpr Default(const char* shown, const int64_t (&values)[count])
      : shown_(shown), integers_(values), holds_(Holds::integers), count_(count) {}

  /// Null where an argument must be given.
  constexpr const char* shown() const { return shown_; }
  constexpr Holds holds() const { return holds_; }
  constexpr explicit operator bool() const { return holds_ != Holds::nothing; }
  constexpr int64_t integer() const { return integer_; }
  constexpr double floating() const {
    return holds_ == Holds::integer ? static_cast<double>(integer_) : floating_;
  }
  constexpr const char* text() const { return text_; }
  constexpr std::span<const int64_t> integers() const {
    if (holds_ != Holds::integers) return {};
    return {integers_, count_};
  }

 private:
  const char* shown_ = nullptr;
  union {
    int64_t integer_ = 0;
    double floating_;
    const char* text_;
    const int64_t* integers_;
  };
  Holds holds_ = Holds::nothing;
  uint8_t count_ = 0;
};

struct Parameter {
  const char* name;
  Kind kind;
  Default otherwise = {};
  uint16_t flags = kPlain;
  uint8_t length = 0;  ///< int[N]: N; of several tensors as `out`: how many; 0: any

  constexpr bool is_required() const { return !otherwise.shown(); }
  constexpr bool is_by_position() const { return !(flags & kKeywordOnly); }
};

/// Parameters that every factory function has after its own: requires_grad=, layout=, pin_memory=.
#define FLAMBEAU_FACTORY_PARAMETERS                                        \
  {"requires_grad", Kind::boolean, "False", kKeywordOnly | kRequiresGrad}, \
      {"layout", Kind::layout, "None", kKeywordOnly | kNone | kIgnored}, { \
    "pin_memory", Kind::boolean, "False", kKeywordOnly | kNone | kIgnored  \
  }

/// What a call gives for one parameter: nothing, an object, or several that stand for a list.
struct Slot {
  PyObject* const* objects;
  Py_ssize_t count;
  const Parameter* parameter;
};

struct Overload;

struct Binding;

/// A C++ function; functions.h has one for each type of function.
struct Function {
  /// Calls it with arguments from slots.
  PyObject* (*call)(const Function& function, const Overload& overload, const Slot* slots);
  /// Enters a binding whose first overload has this function, the short way if arguments by
  /// position have the exact types that callers mostly give; `receiver` is null in the function
  /// form.
  PyObject* (*enter)(PyObject* receiver, PyObject* const* args, Py_ssize_t count, PyObject* names,
                     const Binding& binding);
};

enum OverloadFlags : uint8_t { kFunction = 1, kMethod = 2 };

/// The most parameters of an overload, and the most results.
inline constexpr int kMostParameters = 24;
inline constexpr int kMostResults = 8;

/// One overload.
struct Overload {
  /// Of a function that is written by hand, and asks the parser for its arguments.
  template <size_t size>
  constexpr Overload(const Parameter (&parameters)[size], uint8_t flags, int8_t receiver = -1)
      : parameters(parameters), count(size), flags(flags), receiver(receiver), function(nullptr) {
    static_assert(size <= kMostParameters);
    summarize();
  }
  template <size_t size>
  constexpr Overload(const Parameter (&parameters)[size], uint8_t flags, int8_t receiver,
                     const Function* function, const Function* written = nullptr,
                     NamedResult* result = nullptr)
      : parameters(parameters),
        count(size),
        flags(flags),
        receiver(receiver),
        function(function),
        written(written),
        result(result) {
    static_assert(size <= kMostParameters);
    summarize();
    find_direct();
  }
  /// Without parameters.
  constexpr Overload(uint8_t flags, const Function* function) : flags(flags), function(function) {
    find_direct();
  }

  constexpr const Parameter& operator[](int i) const { return parameters[i]; }

  const Parameter* parameters = nullptr;
  int8_t count = 0;
  uint8_t flags;
  int8_t receiver = -1;          ///< the parameter that a method's receiver fills; -1: it has none
  int8_t required = 0;           ///< how many must be given, the receiver among them
  int8_t apart = 0;              ///< those from here on are not given to the C++ function
  bool chooses = false;          ///< whether a parameter has kTrue or kFalse
  bool spreads = false;          ///< whether one has kSpread
  bool takes_sparse = false;     ///< whether one has kSparse: layouts are the parser's affair
  bool is_in_order = true;       ///< whether those before `apart` all are
  int8_t packing[2] = {-1, -1};  ///< see packed()
  struct Range {
    int8_t least, most;
  } direct[2] = {{1, 0}, {1, 0}};     ///< see takes_directly()
  const Function* function;           ///< null: whoever asks for the arguments calls it
  const Function* written = nullptr;  ///< takes what is `out` first, or writes for inplace=True
  NamedResult* result = nullptr;      ///< what several results are called

  /// The one parameter by position if it is a list of ints: x.view(2, 3) means x.view((2, 3)).
  constexpr int packed(bool method) const { return packing[method]; }
  /// Whether so many arguments by position, and no others, are the first ones of the C++ function.
  constexpr bool takes_directly(bool method, Py_ssize_t given) const {
    return direct[method].least <= given && given <= direct[method].most;
  }

 private:
  constexpr void summarize() {
    apart = count;
    for (int8_t i = 0; i < count; ++i) {
      required += parameters[i].is_required();
      chooses = chooses || (parameters[i].flags & (kTrue | kFalse));
      spreads = spreads || (parameters[i].flags & kSpread);
      takes_sparse = takes_sparse || (parameters[i].flags & kSparse);
      const bool is_apart = parameters[i].flags & kApart;
      if (is_apart && apart == count) apart = i;
      if (!is_apart && apart != count) is_in_order = false;
    }
    for (int8_t method = 0; method < 2; ++method) packing[method] = find_packing(method);
  }
  constexpr void find_direct() {
    if (!is_in_order || spreads || takes_sparse || !defaults_choose()) return;
    const Range range = leading();
    if (flags & kFunction) direct[false] = range;
    if ((flags & kMethod) && receiver == 0) {
      direct[true] = {static_cast<int8_t>(range.least - 1), static_cast<int8_t>(range.most - 1)};
    }
  }
  /// Whether this is the overload that a call without the parameters that choose one means.
  constexpr bool defaults_choose() const {
    for (int8_t i = 0; i < count; ++i) {
      const uint16_t wanted = parameters[i].flags & (kTrue | kFalse);
      if (wanted && wanted != (parameters[i].otherwise.integer() ? kTrue : kFalse)) return false;
    }
    return true;
  }
  /// Up to a parameter that is not passed on, or is given by name; what must be given is among
  /// them.
  constexpr Range leading() const {
    int8_t most = 0, needed = 0;
    for (; most < apart && parameters[most].is_by_position(); ++most) {
      if (parameters[most].is_required()) needed = static_cast<int8_t>(most + 1);
    }
    for (int8_t i = most; i < count; ++i) {
      if (parameters[i].is_required()) return {1, 0};
    }
    return {needed, most};
  }
  constexpr int8_t find_packing(bool method) const {
    int8_t found = -1;
    for (int8_t i = 0; i < count; ++i) {
      if ((method && i == receiver) || !parameters[i].is_by_position()) continue;
      if (found >= 0) return -1;
      found = i;
    }
    return found >= 0 && parameters[found].kind == Kind::integers ? found : int8_t{-1};
  }
};

/// The overloads of one name.
struct Binding {
  template <size_t size>
  constexpr Binding(const char* name, const Overload (&overloads)[size])
      : name(name), overloads(overloads, size) {}
  const char* name;  ///< as users write it: "add", "nn.functional.silu"
  std::span<const Overload> overloads;
};

}  // namespace flambeau::python
