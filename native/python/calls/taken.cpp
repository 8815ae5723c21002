#include "python/calls/taken.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "autograd/graph/grad_mode.h"
#include "autograd/graph/history.h"
#include "autograd/graph/stand_in.h"
#include "core/geometry/arguments.h"
#include "core/profiling/recorder.h"
#include "operators/taken.h"
#include "python/base/gil.h"
#include "python/base/modules.h"
#include "python/base/names.h"
#include "python/calls/arguments.h"
#include "python/calls/define.h"
#include "python/calls/overrides.h"
#include "python/calls/results.h"
#include "python/objects/generator_object.h"

namespace flambeau::python {

namespace {

using forms::AnyArgument;
using forms::Asked;

/// Of a thread.
struct State {
  int64_t batches = 0;           // how many want batches to be taken
  int64_t pauses = 0;            // how many want nobody to be asked who defines __torch_dispatch__
  std::vector<PyObject*> modes;  // references of their own; the last is asked first
};
thread_local State state;

/// Of all threads; the GIL protects them.
int64_t reasons = 0;       // why calls may be taken: modes, threads with batches, classes
bool has_classes = false;  // some class defines __torch_dispatch__
PyTypeObject* batch_type = nullptr;
PyObject* of_batches = nullptr;   // function(name, arguments)
PyObject* of_dispatch = nullptr;  // function(name, arguments, instances)
PyObject* disabled = nullptr;     // what a class has that leaves operators alone

void add_reasons(int64_t count) {
  reasons += count;
  profiling::set_taken(reasons > 0);
}

// Arguments -------------------------------------------------------------------------------------

PyObject* element(int64_t value) {
  return value == kNoInt ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}
PyObject* element(double value) { return PyFloat_FromDouble(value); }
PyObject* element(bool value) { return PyBool_FromLong(value); }
PyObject* element(const Tensor& tensor) { return wrap(tensor); }

template <class List>
PyObject* list_of(const List& values) {
  PyRef list = new_list(static_cast<int64_t>(values.size()));
  Py_ssize_t i = 0;
  for (const auto& value : values)
    PyList_SET_ITEM(list.get(), i++, checked(element(value)).release());
  return list.release();
}

struct ToObject {
  PyObject* operator()(std::monostate) const { return Py_NewRef(Py_None); }
  PyObject* operator()(const Tensor* tensor) const { return wrap(*tensor); }
  PyObject* operator()(const Scalar* value) const { return to_python(*value); }
  PyObject* operator()(TensorList tensors) const { return list_of(tensors); }
  PyObject* operator()(IntList values) const { return list_of(values); }
  PyObject* operator()(std::span<const double> values) const { return list_of(values); }
  PyObject* operator()(std::span<const bool> values) const { return list_of(values); }
  PyObject* operator()(int64_t value) const { return element(value); }
  PyObject* operator()(double value) const { return element(value); }
  PyObject* operator()(bool value) const { return element(value); }
  PyObject* operator()(std::string_view text) const {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  }
  PyObject* operator()(DType dtype) const { return to_python(dtype); }
  PyObject* operator()(Device device) const { return to_python(device); }
  PyObject* operator()(Generator* generator) const { return Py_NewRef(object_of(generator)); }
};

PyRef to_objects(std::span<const AnyArgument> arguments) {
  PyRef objects = new_tuple(static_cast<int64_t>(arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    PyTuple_SET_ITEM(objects.get(), static_cast<Py_ssize_t>(i),
                     checked(std::visit(ToObject(), arguments[i])).release());
  }
  return objects;
}

/// Whether `holds` is true of a tensor among the arguments.
template <class Condition>
bool any_tensor(std::span<const AnyArgument> arguments, const Condition& holds) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const AnyArgument& argument) {
    if (const auto* const tensor = std::get_if<const Tensor*>(&argument)) return holds(**tensor);
    const auto* const list = std::get_if<TensorList>(&argument);
    return list && std::any_of(list->begin(), list->end(), [&](const Tensor& tensor) {
             return tensor.defined() && holds(tensor);
           });
  });
}

/// The object that a tensor has already.
PyObject* object_if_any(const Tensor& tensor) {
  return static_cast<PyObject*>(tensor.impl()->python_object);
}

bool is_batch(const Tensor& tensor) {
  PyObject* const object = object_if_any(tensor);
  return object && batch_type && PyObject_TypeCheck(object, batch_type);
}

/// Whether a tensor is to be made where a batch seems to be, which has no elements.
bool makes_beside_batch(std::span<const AnyArgument> arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const AnyArgument& argument) {
    const auto* const device = std::get_if<Device>(&argument);
    return device && device->backend == Backend::meta;
  });
}

bool has_dispatch(const Tensor& tensor) {
  PyObject* const object = object_if_any(tensor);
  if (!object || is_exact_tensor(object)) return false;
  PyObject* const found = _PyType_Lookup(Py_TYPE(object), interned<"__torch_dispatch__">());
  return found && found != disabled && found != Py_None;
}

// Asking ----------------------------------------------------------------------------------------

/// None: nothing was made of it.
bool answered(const PyRef& answer, std::vector<Tensor>& results) {
  if (answer.get() == Py_None) return false;
  check(PyTuple_Check(answer.get()), ErrorKind::type,
        "a call that is taken over gives a tuple of tensors, not ", describe_type(answer.get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(answer.get()); ++i) {
    PyObject* const one = PyTuple_GET_ITEM(answer.get(), i);
    check(one == Py_None || is_tensor(one), ErrorKind::type,
          "a call that is taken over gives tensors, not ", describe_type(one));
    results.push_back(one == Py_None ? Tensor() : unwrap(one));
  }
  return true;
}

PyRef ask(PyObject* whom, const char* function, std::span<const AnyArgument> arguments) {
  const PyRef name = checked(PyUnicode_FromString(function));
  const PyRef objects = to_objects(arguments);
  return call_python(PyObject_CallFunctionObjArgs, whom, name.get(), objects.get(), nullptr);
}

bool records(std::span<const AnyArgument> arguments) {
  return grad_enabled() && any_tensor(arguments, [](const Tensor& tensor) {
           return autograd::requires_grad(tensor);
         });
}

bool take(const char* function, Asked asked, std::span<const AnyArgument> arguments,
          std::vector<Tensor>& results) {
  const bool may_see = has_classes || !state.modes.empty();
  if (state.batches == 0 && (!may_see || state.pauses > 0)) return false;
  const AcquireGil gil;
  if (state.batches > 0 && (any_tensor(arguments, is_batch) || makes_beside_batch(arguments))) {
    return answered(ask(of_batches, function, arguments), results);
  }
  if (asked == Asked::of_batches || !may_see || state.pauses > 0) return false;
  if (state.modes.empty() && !any_tensor(arguments, has_dispatch)) return false;
  if (asked == Asked::before && records(arguments)) return false;
  const GradMode mode(asked != Asked::inside && grad_enabled());
  return answered(ask(of_dispatch, function, arguments), results);
}

/// What stands for something in Python stands for it in a copy, too.
void copy_wrapper(const Tensor& from, const Tensor& to) {
  const AcquireGil gil;
  PyObject* const object = object_if_any(from);
  if (!object || is_exact_tensor(object)) return;
  const PyRef copy(wrap_as(Py_TYPE(object), to));
  PyObject* const attributes = reinterpret_cast<TensorObject*>(object)->dict;
  if (attributes) reinterpret_cast<TensorObject*>(copy.get())->dict = PyDict_Copy(attributes);
}

// flambeau._C._taken ----------------------------------------------------------------------------

void set_batches(PyObject* type, PyObject* function) {
  check(PyType_Check(type), ErrorKind::type, "set_batches(): expected a type");
  batch_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  of_batches = Py_NewRef(function);
}
void set_dispatch(PyObject* function) { of_dispatch = Py_NewRef(function); }
void take_batches(bool begins, PyObject*) {
  state.batches += begins ? 1 : -1;
  add_reasons(begins ? 1 : -1);
}
void note_class(PyObject*) {
  if (!std::exchange(has_classes, true)) add_reasons(1);
}
void push_mode(PyObject* mode) {
  state.modes.push_back(Py_NewRef(mode));
  add_reasons(1);
}
PyRef pop_mode() {
  check(!state.modes.empty(), ErrorKind::runtime, "no mode of __torch_dispatch__ is on");
  PyRef mode(state.modes.back());
  state.modes.pop_back();
  add_reasons(-1);
  return mode;
}
PyRef modes() {
  PyRef found = new_tuple(static_cast<int64_t>(state.modes.size()));
  for (size_t i = 0; i < state.modes.size(); ++i) {
    PyTuple_SET_ITEM(found.get(), static_cast<Py_ssize_t>(i), Py_NewRef(state.modes[i]));
  }
  return found;
}
void pause(bool begins, PyObject*) { state.pauses += begins ? 1 : -1; }

constexpr Parameter batches_by[] = {{"type", Kind::object}, {"function", Kind::object}};
constexpr Parameter one_function[] = {{"function", Kind::object}};
constexpr Parameter one_mode[] = {{"mode", Kind::object}};
constexpr Parameter one_class[] = {{"cls", Kind::object}};
constexpr Parameter begins[] = {{"begins", Kind::boolean}, {"context", Kind::object, "None"}};

PyMethodDef taken_functions[] = {
    define<"set_batches", set_batches, batches_by>(
        "set_batches(type, function)\n--\n\n"
        "function(name, arguments) computes operators of instances of the type."),
    define<"set_dispatch", set_dispatch, one_function>(
        "set_dispatch(function)\n--\n\n"
        "function(name, arguments) computes operators that __torch_dispatch__ sees."),
    define<"take_batches", take_batches, begins>(
        "take_batches(begins, context=None)\n--\n\n"
        "From now on operators of batches are taken over on this thread, or not any more."),
    define<"note_class", note_class, one_class>(
        "note_class(cls)\n--\n\nA class defines __torch_dispatch__."),
    define<"push_mode", push_mode, one_mode>(
        "push_mode(mode)\n--\n\nTurns a mode of `__torch_dispatch__` on, inside the others."),
    define<"pop_mode", pop_mode>("pop_mode()\n--\n\nTurns the innermost mode off; the mode."),
    define<"modes", modes>("modes()\n--\n\nThe modes that are on, the innermost last."),
    define<"pause", pause, begins>(
        "pause(begins, context=None)\n--\n\n"
        "From now on nobody with a __torch_dispatch__ is asked on this thread, or is again."),
    kNoMore};

PyObject* dispatch_disabled(PyObject*, PyObject* args) {
  ++state.pauses;
  PyObject* const result = call_as_given("_disabled_torch_dispatch_impl", args);
  --state.pauses;
  return result;
}

PyMethodDef disabled_function = {
    "_disabled_torch_dispatch_impl", dispatch_disabled, METH_VARARGS,
    "_disabled_torch_dispatch_impl(func, types, args=(), kwargs=None)\n--\n\n"
    "As `__torch_dispatch__` of a subclass: operators compute its instances as those of Tensor."};

}  // namespace

void add_taken(PyObject* module) {
  disabled = checked(PyCFunction_New(&disabled_function, module)).release();
  checked(PyModule_AddObjectRef(module, disabled_function.ml_name, disabled));
  add_functions(submodule(module, "_taken").get(), taken_functions);
  forms::taker = &take;
  autograd::copy_stand_in = &copy_wrapper;
}

}  // namespace flambeau::python
