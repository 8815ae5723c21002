#pragma once

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "python/calls/arguments.h"
#include "python/calls/overrides.h"
#include "python/calls/results.h"
#include "python/interop/interop.h"
#include "python/interop/numpy_types.h"

/// Bodies of the number protocol's slots. Foreign operands are answered with NotImplemented, so
/// that their own reflected method gets its turn; NumPy arrays count as tensors.
namespace flambeau::python {

namespace detail {
/// What those who are asked make of a slot; else, of arguments that are not strided, what the
/// method does that the slot stands for. Null where the slot does it.
inline PyRef overridden_slot(const char* method, std::span<PyObject* const> args) {
  PyRef result = overridden(method, args, Layouts::any);
  const bool strided = std::none_of(args.begin(), args.end(), is_sparse_object);
  if (result || strided) return result;
  // A method of that name is the slot itself.
  const bool is_slot = std::string_view(method).starts_with("__");
  return is_slot ? PyRef(Py_NewRef(Py_NotImplemented)) : call_method(method, args);
}
inline PyRef overridden_slot(const char* called, const char* reflected, PyObject* a, PyObject* b) {
  PyObject* const args[] = {is_tensor(a) ? a : b, is_tensor(a) ? b : a};
  return overridden_slot(is_tensor(a) ? called : reflected, args);
}

/// Tells how a callable takes its second operand.
template <class Function>
inline constexpr bool takes_operand = std::is_invocable_v<Function, const Tensor&, const Operand&>;

template <class Function>
FLAMBEAU_INLINE PyObject* call_binary(const Function& function, const Tensor& self,
                                      const Operand& other) {
  return to_python(
      released(work_of(self, other), [&]() -> Tensor { return function(self, other); }));
}
}  // namespace detail

/// `forward(self, other)` for self OP other; `reflected(self, other)` for other OP self, where
/// other is a number. They are the methods `called` and `mirrored`. Callables take (const Tensor&,
/// const Operand&) or (const Tensor&, const Tensor&).
template <class Forward, class Reflected>
FLAMBEAU_INLINE PyObject* binary_slot(const char* called, const char* mirrored, PyObject* a,
                                      PyObject* b, Forward forward, Reflected reflected) {
  return guarded(called, false, [&]() -> PyObject* {
    if (asks(a, b)) {
      if (PyRef result = detail::overridden_slot(called, mirrored, a, b)) return result.release();
    }
    if (FLAMBEAU_LIKELY(is_tensor(a))) {
      const Tensor& self = unwrap(a);
      if constexpr (detail::takes_operand<Forward>) {
        if (const QuickOperand other(b); FLAMBEAU_LIKELY(static_cast<bool>(other))) {
          return detail::call_binary(forward, self, *other);
        }
        if (is_tensor(b) || is_number(b)) {
          return detail::call_binary(forward, self, to_operand(b));
        }
      } else if (FLAMBEAU_LIKELY(is_tensor(b))) {
        const Tensor& other = unwrap(b);
        return to_python(
            released(work_of(self, other), [&]() -> Tensor { return forward(self, other); }));
      }
      if (is_numpy_array(b))
        return to_python(forward(self, from_buffer(b, Sharing::share, "operator")));
      Py_RETURN_NOTIMPLEMENTED;
    }
    if (is_numpy_array(a)) {
      return to_python(forward(from_buffer(a, Sharing::share, "operator"), unwrap(b)));
    }
    if constexpr (detail::takes_operand<Reflected>) {
      if (is_tensor(b) && is_number(a)) {
        return detail::call_binary(reflected, unwrap(b), Operand(to_scalar(a)));
      }
    }
    Py_RETURN_NOTIMPLEMENTED;
  });
}

/// Without a reflected operator: a number on the left becomes a 0-d tensor that is weak in
/// promotion, where the operator takes numbers at all.
template <class Forward>
FLAMBEAU_INLINE PyObject* binary_slot(const char* called, const char* mirrored, PyObject* a,
                                      PyObject* b, Forward forward) {
  if constexpr (detail::takes_operand<Forward>) {
    return binary_slot(called, mirrored, a, b, forward,
                       [&](const Tensor& self, const Operand& other) {
                         return forward(wrap_number(other.scalar()), Operand(self));
                       });
  } else {
    return binary_slot(called, mirrored, a, b, forward, nullptr);
  }
}

/// self OP= other: `function(self, other)` writes into self.
template <class Function>
FLAMBEAU_INLINE PyObject* inplace_slot(const char* called, PyObject* self, PyObject* value,
                                       Function function) {
  return guarded(called, false, [&]() -> PyObject* {
    if (asks(self, value)) {
      PyObject* const args[] = {self, value};
      if (PyRef result = detail::overridden_slot(called, args)) return result.release();
    }
    const Tensor& tensor = unwrap(self);
    if constexpr (detail::takes_operand<Function>) {
      if (!is_tensor(value) && !is_number(value)) Py_RETURN_NOTIMPLEMENTED;
      const Operand other = to_operand(value);
      released(work_of(tensor, other), [&] { function(tensor, other); });
    } else {
      if (!is_tensor(value)) Py_RETURN_NOTIMPLEMENTED;
      const Tensor& other = unwrap(value);
      released(work_of(tensor, other), [&] { function(tensor, other); });
    }
    return written(self);
  });
}

/// -self, ~self, abs(self).
template <class Function>
FLAMBEAU_INLINE PyObject* unary_slot(const char* called, PyObject* self, Function function) {
  return guarded(called, false, [&]() -> PyObject* {
    if (asks(self)) {
      if (PyRef result = detail::overridden_slot(called, {&self, 1})) return result.release();
    }
    const Tensor& tensor = unwrap(self);
    return to_python(released(work_of(tensor), [&]() -> Tensor { return function(tensor); }));
  });
}

}  // namespace flambeau::python
