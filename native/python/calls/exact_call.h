#pragma once

#include <algorithm>
#include <cstring>

#include "python/calls/arguments.h"
#include "python/calls/overrides.h"
#include "python/calls/records.h"
#include "python/objects/dtype_object.h"

/// Binding arguments of the usual exact types, without running Python code: what is bound here is
/// what the parser binds, and what cannot be told here is left to it.
namespace flambeau::python {

enum class Fit : uint8_t {
  taken,    ///< the parser would take it
  refused,  ///< the parser would refuse it
  unknown,
};

namespace detail {

/// What an object is, as one bit.
enum Class : uint16_t {
  kTensor = 1,
  kSmallInt = 2,
  kFloat = 4,
  kBool = 8,
  kNothing = 16,  ///< None
  kList = 32,     ///< a list or a tuple
  kText = 64,
  kDType = 128,
  kOther = 256,
};

FLAMBEAU_INLINE Class class_of(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (type == tensor_type) return kTensor;
  if (type == &PyLong_Type) {
    int64_t value;
    return small_int(object, value) ? kSmallInt : kOther;
  }
  if (type == &PyFloat_Type) return kFloat;
  if (type == &PyBool_Type) return kBool;
  if (object == Py_None) return kNothing;
  if (type == &PyTuple_Type || type == &PyList_Type) return kList;
  if (type == dtype_type) return kDType;
  if (type == &PyUnicode_Type) return kText;
  return is_plain_tensor(object) ? kTensor : kOther;
}

struct Classes {
  uint16_t taken, refused;
};
inline constexpr uint16_t kNumbers = kSmallInt | kFloat | kBool;
/// By kind; a list is looked into.
inline constexpr Classes kClasses[] = {
    {kTensor, kNumbers | kNothing | kList | kText | kDType},                    // tensor
    {kTensor | kNumbers, kNothing | kList | kText | kDType},                    // operand
    {kNumbers, kNothing | kList | kText | kDType},                              // scalar
    {kSmallInt, kFloat | kBool | kNothing | kList | kText | kDType},            // integer
    {kNumbers, kNothing | kList | kText | kDType},                              // floating
    {kBool, kSmallInt | kFloat | kNothing | kList | kText | kDType},            // boolean
    {kText, kTensor | kNumbers | kNothing | kList | kDType},                    // string
    {kDType, kTensor | kNumbers | kNothing | kList | kText},                    // dtype
    {kSmallInt | kText, kTensor | kFloat | kBool | kNothing | kList | kDType},  // device
    {0, kTensor | kNumbers | kNothing | kList | kText | kDType},                // generator
    {0, kTensor | kNumbers | kNothing | kList | kText | kDType},                // layout
    {0, kTensor | kNumbers | kNothing | kList | kText | kDType},                // memory_format
    {kSmallInt, kFloat | kBool | kNothing | kText | kDType},                    // integers
    {0, kNothing | kText | kDType},                                             // floats
    {0, kNumbers | kNothing | kText | kDType},                                  // booleans
    {0, kTensor | kNumbers | kNothing | kText | kDType},                        // tensors
    {kTensor | kNumbers | kNothing | kList | kText | kDType | kOther, 0},       // object
};
static_assert(std::size(kClasses) == static_cast<size_t>(Kind::object) + 1);

template <Class wanted>
bool is_a(PyObject* object) {
  return class_of(object) == wanted;
}

FLAMBEAU_INLINE Fit fit_of(const Parameter& parameter, PyObject* object) {
  const Class found = class_of(object);
  const Classes& classes = kClasses[static_cast<size_t>(parameter.kind)];
  if (FLAMBEAU_LIKELY(classes.taken & found)) {
    if (FLAMBEAU_LIKELY(!(parameter.flags & (kTrue | kFalse)))) return Fit::taken;
    return (object == Py_True) == static_cast<bool>(parameter.flags & kTrue) ? Fit::taken
                                                                             : Fit::refused;
  }
  if (found == kNothing && (parameter.flags & kNone)) return Fit::taken;
  if (classes.refused & found) return Fit::refused;
  if (found == kList) {
    if (parameter.kind == Kind::integers && is_list_of(object, is_small_int)) return Fit::taken;
    if (parameter.kind == Kind::tensors && parameter.length == 0 &&
        is_list_of(object, is_a<kTensor>)) {
      return Fit::taken;
    }
  }
  return Fit::unknown;
}

inline bool has_name(const Parameter& parameter, PyObject* keyword) {
  if (!PyUnicode_IS_COMPACT_ASCII(keyword)) return false;
  const char* name = reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(keyword));
  return parameter.name[0] == name[0] && std::strcmp(parameter.name, name) == 0;
}

/// The parameter that a keyword names, mostly from `hint` on; -1 where only the parser may know.
inline int named_parameter(const Overload& overload, PyObject* keyword, int hint) {
  for (int i = hint; i < overload.count; ++i) {
    if (has_name(overload[i], keyword)) return i;
  }
  for (int i = 0; i < hint; ++i) {
    if (has_name(overload[i], keyword)) return i;
  }
  return -1;
}

FLAMBEAU_INLINE Fit bind_keywords(const Overload& overload, bool method, PyObject* const* values,
                                  PyObject* names, int hint, Slot* slots, int& required) {
  const Py_ssize_t count = PyTuple_GET_SIZE(names);
  for (Py_ssize_t k = 0; k < count; ++k) {
    const int i = named_parameter(overload, PyTuple_GET_ITEM(names, k), hint);
    if (i < 0 || slots[i].count != 0 || (method && (overload[i].flags & kOut))) return Fit::unknown;
    const Fit fit = fit_of(overload[i], values[k]);
    if (fit != Fit::taken) return fit;
    slots[i].objects = values + k;
    slots[i].count = 1;
    required += overload[i].is_required();
    hint = i + 1;
  }
  return Fit::taken;
}

/// Whether parameters that choose the overload, and are not given, have the value wanted.
inline bool defaults_choose(const Overload& overload, const Slot* slots) {
  for (int i = 0; i < overload.count; ++i) {
    const Parameter& parameter = overload[i];
    if (!(parameter.flags & (kTrue | kFalse)) || slots[i].count != 0) continue;
    if ((parameter.otherwise.integer() != 0) != static_cast<bool>(parameter.flags & kTrue))
      return false;
  }
  return true;
}

}  // namespace detail

/// Fills a slot for each parameter.
template <bool method>
Fit bind_exactly(const Overload& overload, PyObject* const& receiver, PyObject* const* args,
                 Py_ssize_t count, PyObject* names, Slot* slots) {
  if (FLAMBEAU_UNLIKELY(overload.takes_sparse)) return Fit::unknown;
  const int receives = method ? overload.receiver : -1;
  const int packed = overload.packed(method);
  Py_ssize_t next = 0;
  int required = 0, last = 0;
  for (int i = 0; i < overload.count; ++i) {
    const Parameter& parameter = overload[i];
    slots[i].parameter = &parameter;
    slots[i].count = 0;
    if (i == receives) {
      slots[i].objects = &receiver;
      slots[i].count = 1;
      ++required;
    } else if (next < count && parameter.is_by_position()) {
      slots[i].objects = args + next;
      slots[i].count = 1;
      if (FLAMBEAU_UNLIKELY(i == packed && count > 1)) {
        if (!std::all_of(args, args + count, is_small_int)) return Fit::unknown;
        slots[i].count = next = count;
      } else if (FLAMBEAU_UNLIKELY(parameter.flags & kSpread) &&
                 (next + 1 < count || detail::class_of(args[next]) != detail::kList)) {
        const auto fits =
            parameter.kind == Kind::integers ? is_small_int : detail::is_a<detail::kTensor>;
        if (!std::all_of(args + next, args + count, fits)) return Fit::unknown;
        slots[i].count = count - next;
        next = count;
      } else {
        const Fit fit = detail::fit_of(parameter, args[next]);
        if (FLAMBEAU_UNLIKELY(fit != Fit::taken)) return fit;
        ++next;
      }
      required += parameter.is_required();
      last = i + 1;
    }
  }
  if (FLAMBEAU_UNLIKELY(next < count)) return Fit::refused;
  if (names) {
    const Fit fit =
        detail::bind_keywords(overload, method, args + count, names, last, slots, required);
    if (fit != Fit::taken) return fit;
  }
  if (FLAMBEAU_UNLIKELY(required != overload.required)) {
    return overload.spreads ? Fit::unknown : Fit::refused;
  }
  if (FLAMBEAU_UNLIKELY(overload.chooses) && !detail::defaults_choose(overload, slots)) {
    return Fit::refused;
  }
  return Fit::taken;
}

}  // namespace flambeau::python
