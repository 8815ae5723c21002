#include "python/calls/calls.h"

#include <algorithm>
#include <optional>

#include "core/base/assert.h"
#include "python/base/sequences.h"
#include "python/calls/exact_call.h"
#include "python/calls/functions.h"
#include "python/calls/overrides.h"
#include "python/calls/parser.h"

namespace flambeau::python {

namespace {

/// A slot per parameter, and before them some for `out`.
struct Slots {
  Slot values[kMostParameters + kMostResults];
  Slot* first() { return values + kMostResults; }
};

/// Puts what is `out` before the slots that begin at `first`: one for each tensor. Several are held
/// by `outputs`, as they are now.
Slot* put_outputs(const Slot& slot, std::optional<Elements>& outputs, Slot* first) {
  if (slot.parameter->kind == Kind::tensor) {
    *--first = slot;
    return first;
  }
  outputs.emplace(*slot.objects, "out");
  check(accepts(*slot.parameter, outputs->tuple().get()), ErrorKind::type,
        "argument 'out' has changed while it was read");
  first -= outputs->size();
  for (Py_ssize_t i = 0; i < outputs->size(); ++i) {
    first[i] = {outputs->begin() + i, 1, slot.parameter};
  }
  return first;
}

/// Chooses among the C++ functions by the arguments that none of them takes, and leaves these out.
[[gnu::noinline]] PyObject* call_apart(const Overload& overload, Slot* slots) {
  Slot* first = slots;
  Slot* next = slots;
  const Function* function = overload.function;
  bool requires_grad = false;
  std::optional<Elements> outputs;
  for (int i = 0; i < overload.count; ++i) {
    const Slot& slot = slots[i];
    const uint16_t flags = slot.parameter->flags;
    if (!(flags & kApart)) {
      *next++ = slot;
    } else if (flags & kOut) {
      if (slot.count == 0 || *slot.objects == Py_None) continue;
      function = overload.written;
      first = put_outputs(slot, outputs, first);
    } else if (flags & kInplace) {
      if (Argument<bool>(slot).value()) function = overload.written;
    } else if (flags & kRequiresGrad) {
      requires_grad = Argument<bool>(slot).value();
    }
  }
  PyRef result = checked(function->call(*function, overload, first));
  if (requires_grad) {
    autograd::set_requires_grad(unwrap(result.get()), true);
    note_written(result.get());
  }
  return result.release();
}

FLAMBEAU_INLINE PyObject* call_overload(const Overload& overload, Slot* slots) {
  bool is_plain = overload.is_in_order;
  for (int i = overload.apart; i < overload.count; ++i) is_plain = is_plain && slots[i].count == 0;
  if (FLAMBEAU_UNLIKELY(!is_plain)) return call_apart(overload, slots);
  return overload.function->call(*overload.function, overload, slots);
}

bool holds_sparse(PyObject* object) {
  if (is_sparse_object(object)) return true;
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return false;
  PyObject* const* items = PySequence_Fast_ITEMS(object);
  return std::any_of(items, items + PySequence_Fast_GET_SIZE(object), is_sparse_object);
}

/// Whether this thread is in a function that Python has written for sparse tensors: what is refused
/// there is not given to it again.
thread_local bool is_in_sparse_function = false;

/// What Python has written under a name for sparse tensors; or null.
PyRef sparse_function(const char* name) {
  const PyRef functions =
      checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(sparse_type), "_functions"));
  return PyRef::borrow(PyDict_GetItemString(functions.get(), name));
}

std::optional<Parsed> parse_or_clear(const Binding& binding, PyObject* const* args,
                                     Py_ssize_t count, PyObject* names, PyObject** values) {
  try {
    return parse(binding, nullptr, args, count, names, values);
  } catch (const PythonError& error) {
    error.restore();
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw_python_error();
    PyErr_Clear();
    return std::nullopt;
  }
}

/// A call that no declared overload takes: TypeError, if nothing is written for it in Python.
PyObject* call_sparse_function(const Binding& binding, PyObject* const* args, Py_ssize_t count,
                               PyObject* names, PyObject** values) {
  const PyRef function = sparse_function(binding.name);
  if (!function) parse(binding, nullptr, args, count, names, values);
  is_in_sparse_function = true;
  PyRef result(PyObject_Vectorcall(function.get(), args, static_cast<size_t>(count), names));
  is_in_sparse_function = false;
  if (!result) throw_python_error();
  return result.release();
}

[[gnu::noinline]] PyObject* call_parsed(PyObject* receiver, PyObject* const* args, Py_ssize_t count,
                                        PyObject* names, const Binding& binding) {
  if (PyRef result = overridden(binding, receiver, args, count, names)) return result.release();
  PyObject* values[kMostParameters];
  const bool may_be_written = !receiver && !is_in_sparse_function && sparse_type &&
                              std::any_of(args, args + count, holds_sparse);
  const std::optional<Parsed> in =
      may_be_written ? parse_or_clear(binding, args, count, names, values)
                     : std::optional<Parsed>(parse(binding, receiver, args, count, names, values));
  if (!in) return call_sparse_function(binding, args, count, names, values);
  const Overload& overload = binding.overloads[static_cast<size_t>(in->overload)];
  Slots held;
  Slot* const slots = held.first();
  for (int i = 0; i < overload.count; ++i) {
    slots[i] = {&values[i], values[i] ? 1 : 0, &overload[i]};
  }
  return call_overload(overload, slots);
}

template <bool method>
FLAMBEAU_INLINE PyObject* call(PyObject* receiver, PyObject* const* args, Py_ssize_t count,
                               PyObject* names, const Binding& binding) {
  if (FLAMBEAU_UNLIKELY(active_modes > 0) ||
      (method && FLAMBEAU_UNLIKELY(!is_plain_tensor(receiver)))) {
    return call_parsed(receiver, args, count, names, binding);
  }
  Slots held;
  Slot* const slots = held.first();
  for (const Overload& overload : binding.overloads) {
    if (!(overload.flags & (method ? kMethod : kFunction))) continue;
    const Fit fit = bind_exactly<method>(overload, receiver, args, count, names, slots);
    if (FLAMBEAU_LIKELY(fit == Fit::taken)) {
      FLAMBEAU_ASSERT(detail::is_parsed_too(overload, receiver, args, count, names, binding));
      return call_overload(overload, slots);
    }
    if (fit == Fit::unknown) break;
  }
  return call_parsed(receiver, args, count, names, binding);
}

}  // namespace

namespace detail {

PyObject* call_binding(PyObject* receiver, PyObject* const* args, Py_ssize_t count, PyObject* names,
                       const Binding& binding) noexcept {
  return guarded(binding.name, !receiver, [&] {
    return receiver ? call<true>(receiver, args, count, names, binding)
                    : call<false>(receiver, args, count, names, binding);
  });
}

Py_ssize_t in_order(const Overload& overload, bool method, Py_ssize_t count, PyObject* names) {
  const Py_ssize_t keywords = PyTuple_GET_SIZE(names);
  const int receives = method ? overload.receiver : -1;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    Py_ssize_t i = count + k;
    if (receives >= 0 && i >= receives) ++i;
    if (i >= overload.count || !overload[static_cast<int>(i)].is_by_position()) return -1;
    if (!has_name(overload[static_cast<int>(i)], PyTuple_GET_ITEM(names, k))) return -1;
  }
  return count + keywords;
}

#ifdef FLAMBEAU_ASSERTIONS
bool is_parsed_too(const Overload& overload, PyObject* receiver, PyObject* const* args,
                   Py_ssize_t count, PyObject* names, const Binding& binding) noexcept {
  PyObject* values[kMostParameters];
  const Parsed in = parse(binding, receiver, args, count, names, values);
  return &binding.overloads[static_cast<size_t>(in.overload)] == &overload;
}
#endif

}  // namespace detail
}  // namespace flambeau::python
