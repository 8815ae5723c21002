#include "python/calls/overrides.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/tensor/tensor.h"
#include "python/base/modules.h"
#include "python/base/names.h"
#include "python/calls/arguments.h"
#include "python/calls/define.h"
#include "python/calls/parser.h"

namespace flambeau::python {

int active_modes = 0;

namespace {

enum Asked : int64_t { kAll = 0, kModesAlone = 1, kNobody = 2 };

/// Of a thread.
struct State {
  std::vector<PyObject*> modes;  // references of their own; the last is asked first
  int64_t asked = kAll;
  bool binds = false;  // the next call is bound, and not done
};
thread_local State state;

/// What stands for `__torch_function__` where a type leaves functions alone.
PyObject* disabled = nullptr;

PyObject* attribute_name() { return interned<"__torch_function__">(); }

/// Whether instances are asked what a function does; tensors and other objects alike.
bool has_override(PyTypeObject* type) {
  PyObject* found = _PyType_Lookup(type, attribute_name());
  return found && found != disabled && found != Py_None;
}

/// Those among the arguments that are asked, one of each type: from left to right, but subclasses
/// before their bases.
class Overriders {
 public:
  void add(PyObject* object) {
    if (!object) return;
    if (PyTuple_Check(object) || PyList_Check(object)) {
      const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
      for (Py_ssize_t i = 0; i < count; ++i) add_item(PySequence_Fast_GET_ITEM(object, i));
    } else {
      add_item(object);
    }
  }
  bool empty() const { return objects_.empty(); }
  const std::vector<PyObject*>& objects() const { return objects_; }
  PyRef types() const {
    PyRef types = checked(PyTuple_New(static_cast<Py_ssize_t>(objects_.size())));
    for (size_t i = 0; i < objects_.size(); ++i) {
      PyTuple_SET_ITEM(types.get(), static_cast<Py_ssize_t>(i),
                       Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(objects_[i]))));
    }
    return types;
  }

 private:
  void add_item(PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    if (type == tensor_type || is_exact_number(object) || object == Py_None ||
        PyUnicode_CheckExact(object) || PySlice_Check(object) || type == sparse_type ||
        !has_override(type)) {
      return;
    }
    const auto is_known = [&](PyObject* other) { return Py_TYPE(other) == type; };
    if (std::any_of(objects_.begin(), objects_.end(), is_known)) return;
    const auto base = std::find_if(objects_.begin(), objects_.end(), [&](PyObject* other) {
      return PyType_IsSubtype(type, Py_TYPE(other));
    });
    objects_.insert(base, object);
  }
  std::vector<PyObject*> objects_;
};

/// While a mode is asked, those below it are on.
class WithoutTopMode {
 public:
  WithoutTopMode() : mode_(PyRef(state.modes.back())) {
    state.modes.pop_back();
    --active_modes;
  }
  WithoutTopMode(const WithoutTopMode&) = delete;
  ~WithoutTopMode() {
    state.modes.push_back(Py_NewRef(mode_.get()));
    ++active_modes;
  }
  PyObject* mode() const { return mode_.get(); }

 private:
  PyRef mode_;
};

PyRef ask(PyObject* whom, PyObject* function, PyObject* types, PyObject* args, PyObject* keywords) {
  const PyRef method = checked(PyObject_GetAttr(whom, attribute_name()));
  return checked(
      PyObject_CallFunctionObjArgs(method.get(), function, types, args, keywords, nullptr));
}

/// Asks one after another, until one answers.
PyRef ask_all(const Overriders& found, PyObject* function, PyObject* args, PyObject* keywords) {
  const PyRef types = found.types();
  if (!state.modes.empty()) {
    const WithoutTopMode below;
    PyRef result = ask(below.mode(), function, types.get(), args, keywords);
    if (result.get() != Py_NotImplemented) return result;
  }
  if (state.asked == kAll) {
    for (PyObject* object : found.objects()) {
      PyRef result = ask(object, function, types.get(), args, keywords);
      if (result.get() != Py_NotImplemented) return result;
    }
  }
  PyErr_Format(PyExc_TypeError,
               "no implementation of %R: __torch_function__ of all of %R, and of the mode that is "
               "on, returned NotImplemented",
               function, types.get());
  throw_python_error();
}

bool is_asked(const Overriders& found) {
  return !state.modes.empty() || (state.asked == kAll && !found.empty());
}

PyRef tuple_of(PyObject* first, PyObject* const* args, Py_ssize_t count) {
  const Py_ssize_t shift = first != nullptr;
  PyRef tuple = checked(PyTuple_New(count + shift));
  if (first) PyTuple_SET_ITEM(tuple.get(), 0, Py_NewRef(first));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(tuple.get(), i + shift, Py_NewRef(args[i]));
  }
  return tuple;
}

PyRef tensor_attribute(const char* name) {
  return checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
}

std::unordered_map<const Binding*, PyObject*>& functions() {
  static auto* map = new std::unordered_map<const Binding*, PyObject*>;
  return *map;
}
PyObject* root = nullptr;  // the module _C

/// What users call; null for functions that nobody can take over.
PyRef callable_of(const Binding& binding, bool method) {
  const char* last = std::strrchr(binding.name, '.');
  last = last ? last + 1 : binding.name;
  if (method) return tensor_attribute(last);
  if (const auto known = functions().find(&binding); known != functions().end()) {
    return PyRef::borrow(known->second);
  }
  // Private ones are no part of what users call.
  PyObject* found = *last == '_' ? nullptr : PyObject_GetAttrString(root, last);
  if (!found) PyErr_Clear();
  functions().emplace(&binding, found);
  return PyRef::borrow(found);
}

/// (name, place of the overload, an object for each of its parameters): `...` where none is given.
PyRef bound(const Binding& binding, PyObject* receiver, PyObject* const* args, Py_ssize_t count,
            PyObject* names) {
  PyObject* values[kMostParameters];
  const Parsed in = parse(binding, receiver, args, count, names, values);
  const Overload& overload = binding.overloads[static_cast<size_t>(in.overload)];
  PyRef given = checked(PyDict_New());
  for (int i = 0; i < overload.count; ++i) {
    if (values[i]) checked(PyDict_SetItemString(given.get(), overload[i].name, values[i]));
  }
  return checked(Py_BuildValue("(siO)", binding.name, in.overload, given.get()));
}

}  // namespace

namespace detail {

bool is_plain_type(PyTypeObject* type) {
  if (FLAMBEAU_UNLIKELY(type == sparse_type)) return false;
  // Mostly Parameter; a type that changes gets another tag.
  static PyTypeObject* known = nullptr;
  static unsigned int tag = 0;
  if (FLAMBEAU_LIKELY(type == known && type->tp_version_tag == tag)) return true;
  if (has_override(type)) return false;
  if (type->tp_version_tag != 0) {
    known = type;
    tag = type->tp_version_tag;
  }
  return true;
}

}  // namespace detail

void add_functions(PyObject* module, const FunctionNamespace& space) {
  const PyRef name = name_for_functions(module);
  for (BoundFunction& bound : space.functions) {
    PyRef function = add_function(module, name.get(), bound.method);
    if (functions().emplace(bound.binding, function.get()).second) function.release();
  }
}

PyRef overridden(const Binding& binding, PyObject* receiver, PyObject* const* args,
                 Py_ssize_t count, PyObject* names) {
  if (FLAMBEAU_UNLIKELY(state.binds)) {
    state.binds = false;
    return bound(binding, receiver, args, count, names);
  }
  if (state.asked == kNobody) return {};
  Overriders found;
  found.add(receiver);
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count + keywords; ++i) found.add(args[i]);
  if (!is_asked(found)) return {};
  const PyRef function = callable_of(binding, receiver != nullptr);
  if (!function) return {};
  const PyRef positional = tuple_of(receiver, args, count);
  const PyRef named = checked(PyDict_New());
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    checked(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, k), args[count + k]));
  }
  return ask_all(found, function.get(), positional.get(), named.get());
}

namespace {

/// Members that are written by hand look at strided memory, unless they say that they do not.
void check_layouts(const char* member, const char* kind, std::span<PyObject* const> args) {
  for (PyObject* object : args) {
    if (!is_sparse_object(object)) continue;
    fail(ErrorKind::not_implemented, "Tensor.", member, kind, ": argument '",
         object == args.front() ? "self" : "other", "' must be strided, not a Tensor of layout ",
         layout_name(unwrap(object)), "; convert it with to_dense()");
  }
}

template <class Find>
PyRef overridden_member(std::span<PyObject* const> args, const Find& find) {
  if (state.asked == kNobody) return {};
  Overriders found;
  for (PyObject* object : args) found.add(object);
  if (!is_asked(found)) return {};
  const PyRef function = find();
  const PyRef positional = tuple_of(nullptr, args.data(), static_cast<Py_ssize_t>(args.size()));
  const PyRef named = checked(PyDict_New());
  return ask_all(found, function.get(), positional.get(), named.get());
}

}  // namespace

PyRef overridden(const char* method, std::span<PyObject* const> args, Layouts layouts) {
  PyRef result = overridden_member(args, [&] { return tensor_attribute(method); });
  if (!result && layouts == Layouts::strided) check_layouts(method, "()", args);
  return result;
}

PyRef overridden_property(const char* property, const char* accessor,
                          std::span<PyObject* const> args, Layouts layouts) {
  PyRef result = overridden_member(args, [&] {
    const PyRef descriptor = tensor_attribute(property);
    return checked(PyObject_GetAttrString(descriptor.get(), accessor));
  });
  if (!result && layouts == Layouts::strided) check_layouts(property, "", args.first(1));
  return result;
}

PyRef call_method(const char* method, std::span<PyObject* const> args) {
  const PyRef function = tensor_attribute(method);
  return checked(PyObject_Vectorcall(function.get(), args.data(), args.size(), nullptr));
}

// flambeau._C._overrides -------------------------------------------------------------------------

namespace {

void push_mode(PyObject* mode) {
  state.modes.push_back(Py_NewRef(mode));
  ++active_modes;
}
PyRef pop_mode() {
  check(!state.modes.empty(), ErrorKind::runtime, "no mode of __torch_function__ is on");
  PyRef mode(state.modes.back());
  state.modes.pop_back();
  --active_modes;
  return mode;
}
PyRef modes() {
  const auto& found = state.modes;
  return tuple_of(nullptr, found.data(), static_cast<Py_ssize_t>(found.size()));
}
int64_t asked() { return state.asked; }
int64_t set_asked(int64_t now) { return std::exchange(state.asked, now); }

bool has_torch_function(PyObject* arguments) {
  if (state.asked == kNobody) return false;
  if (!state.modes.empty()) return true;
  if (state.asked == kModesAlone) return false;
  Overriders found;
  found.add(arguments);
  return !found.empty();
}

PyRef handle_torch_function(PyObject* function, PyObject* relevant, PyObject* args,
                            PyObject* keywords) {
  Overriders found;
  found.add(relevant);
  check(is_asked(found), ErrorKind::type,
        "handle_torch_function(): no argument has a __torch_function__, and no mode is on");
  return ask_all(found, function, args, keywords);
}

PyRef overriders(PyObject* arguments) {
  Overriders found;
  found.add(arguments);
  const auto& objects = found.objects();
  return tuple_of(nullptr, objects.data(), static_cast<Py_ssize_t>(objects.size()));
}

/// How a call's arguments are bound; None where what is called has no record.
PyRef bind(PyObject* function, PyObject* args, PyObject* keywords) {
  check(PyTuple_Check(args) && PyDict_Check(keywords), ErrorKind::type,
        "bind(): expected a tuple and a dict of arguments");
  state.binds = true;
  ++active_modes;
  PyRef result(PyObject_Call(function, args, keywords));
  --active_modes;
  const bool was_bound = !std::exchange(state.binds, false);
  if (!result) throw_python_error();
  return was_bound ? result : PyRef::borrow(Py_None);
}

/// An instance of a subclass that has a shape and a dtype, and no elements.
PyRef shell(PyObject* type, IntList sizes, IntList strides, DType dtype) {
  auto* subclass = reinterpret_cast<PyTypeObject*>(type);
  check(PyType_Check(type) && PyType_IsSubtype(subclass, tensor_type), ErrorKind::type,
        "shell(): expected a subclass of Tensor");
  return PyRef(wrap_as(subclass, empty_strided(sizes, strides, dtype, Device{Backend::meta, 0})));
}

/// What a tensor is told by, itself and not what a subclass shows; nobody is asked.
std::tuple<PyRef, PyRef, DType, Device> kind_of(PyObject* object) {
  check(is_tensor(object), ErrorKind::type, "kind_of(): expected a Tensor");
  const Tensor& tensor = unwrap(object);
  return {checked(to_tuple(tensor.sizes())), checked(to_tuple(tensor.strides())), tensor.dtype(),
          tensor.device()};
}

PyObject* torch_function_disabled(PyObject*, PyObject* args) {
  const int64_t before = set_asked(std::max<int64_t>(state.asked, kModesAlone));
  PyObject* const result = call_as_given("_disabled_torch_function_impl", args);
  set_asked(before);
  return result;
}

PyRef sparse_tensor_type(PyObject* type) {
  set_sparse_type(type);
  return PyRef::borrow(type);
}

constexpr Parameter one_object[] = {{"mode", Kind::object}};
constexpr Parameter type_parameter[] = {{"cls", Kind::object}};
constexpr Parameter asked_now[] = {{"asked", Kind::integer}};
constexpr Parameter relevant_arguments[] = {{"relevant_args", Kind::object}};
constexpr Parameter handled_call[] = {{"function", Kind::object},
                                      {"relevant_args", Kind::object},
                                      {"args", Kind::object},
                                      {"kwargs", Kind::object}};
constexpr Parameter bound_call[] = {
    {"function", Kind::object}, {"args", Kind::object}, {"kwargs", Kind::object}};
constexpr Parameter one_tensor[] = {{"tensor", Kind::object}};
constexpr Parameter shell_parameters[] = {{"cls", Kind::object},
                                          {"size", Kind::integers},
                                          {"stride", Kind::integers},
                                          {"dtype", Kind::dtype}};

PyMethodDef override_functions[] = {
    define<"push_mode", push_mode, one_object>(
        "push_mode(mode)\n--\n\n"
        "Turns a mode of `__torch_function__` on, inside the others."),
    define<"pop_mode", pop_mode>("pop_mode()\n--\n\n"
                                 "Turns the innermost mode off, and gives it."),
    define<"modes", modes>("modes()\n--\n\n"
                           "The modes that are on, the innermost last."),
    define<"asked", asked>(
        "asked()\n--\n\n"
        "Who is asked on this thread: 0: modes and arguments, 1: modes alone, 2: nobody."),
    define<"set_asked", set_asked, asked_now>("set_asked(asked)\n--\n\n"
                                              "Sets it; what it was."),
    define<"has_torch_function", has_torch_function, relevant_arguments>(
        "has_torch_function(relevant_args)\n--\n\n"
        "Whether a mode is on, or an argument has a `__torch_function__`."),
    define<"handle_torch_function", handle_torch_function, handled_call>(
        "handle_torch_function(function, relevant_args, args, kwargs)\n--\n\n"
        "What the modes and arguments make of a call."),
    define<"overriders", overriders, relevant_arguments>(
        "overriders(relevant_args)\n--\n\n"
        "The arguments that have a `__torch_function__`, subclasses first."),
    define<"bind", bind, bound_call>("bind(function, args, kwargs)\n--\n\n"
                                     "The operator, the place of its overload and the arguments by "
                                     "name of a call that is not made;\n"
                                     "None of a function that has no record."),
    define<"sparse_tensor_type", sparse_tensor_type, type_parameter>(
        "sparse_tensor_type(cls)\n--\n\n"
        "Makes a subclass of Tensor that of the tensors of layout sparse_coo, once; usable as a "
        "decorator."),
    define<"shell", shell, shell_parameters>(
        "shell(cls, size, stride, dtype)\n--\n\n"
        "An instance of a subclass of Tensor that has a shape and a dtype, and no elements."),
    define<"kind_of", kind_of, one_tensor>(
        "kind_of(tensor)\n--\n\n"
        "Sizes, strides, dtype and device of a tensor, about which nobody is asked."),
    define<"default_dtype", default_dtype>(
        "default_dtype()\n--\n\nAs `flambeau.get_default_dtype`; nobody is asked."),
    kNoMore};

PyMethodDef disabled_function = {
    "_disabled_torch_function_impl", torch_function_disabled, METH_VARARGS,
    "_disabled_torch_function_impl(func, types, args=(), kwargs=None)\n--\n\n"
    "As `__torch_function__` of a subclass: its instances are tensors like others, and what is\n"
    "computed from them is a Tensor."};

}  // namespace

PyObject* call_as_given(const char* name, PyObject* given) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *positional = nullptr, *named = nullptr;
    if (!PyArg_ParseTuple(given, "OO|O!O", &function, &types, &PyTuple_Type, &positional, &named))
      return nullptr;
    const PyRef none = checked(PyTuple_New(0));
    const bool has_names = named && named != Py_None;
    check(!has_names || PyDict_Check(named), ErrorKind::type, name, "(): kwargs must be a dict");
    return PyObject_Call(function, positional ? positional : none.get(),
                         has_names ? named : nullptr);
  });
}

void add_overrides(PyObject* module) {
  root = module;
  disabled = checked(PyCFunction_New(&disabled_function, module)).release();
  checked(PyModule_AddObjectRef(module, disabled_function.ml_name, disabled));
  add_functions(submodule(module, "_overrides").get(), override_functions);
}

}  // namespace flambeau::python
