#include "python/base/c_function.h"

#include <structmember.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "autograd/graph/forward_mode.h"
#include "autograd/graph/grad_mode.h"
#include "autograd/graph/history.h"
#include "python/base/c_call.h"
#include "python/calls/arguments.h"
#include "python/objects/dtype_object.h"

namespace flambeau::python {

namespace {

enum class Passed : uint8_t { integer, float32, float64, pointer };

/// A dimension of an array parameter: a number, or a size that it gives.
struct Extent {
  int64_t value = -1;
  int size = -1;  ///< index of the size parameter; -1: `value` is meant
};

struct CParameter {
  std::string name;
  Passed passed = Passed::integer;
  int offset = 0;     ///< of its word
  int argument = -1;  ///< which argument of the call; -1: a size, which follows from arrays
  int bits = 64;      ///< of an integer; 1: a bool
  bool is_signed = true;
  bool writes = false, nullable = false;
  std::optional<DType> dtype;  ///< of the elements; none: any
  bool is_array = false;       ///< has extents
  std::vector<Extent> extents;
};

enum class Returned : uint8_t { nothing, boolean, integer, float32, float64 };

struct CSignature {
  std::string name;
  void* address = nullptr;
  std::vector<CParameter> parameters;
  std::vector<int> of_argument;  ///< the parameter that an argument is for
  Returned returned = Returned::nothing;
  int bits = 64;
  bool is_signed = true, uses_stack = false;
};

struct CFunction {
  PyObject_HEAD vectorcallfunc call;
  CSignature* signature;
  PyObject *library, *name, *doc, *dict;
};

PyTypeObject* function_type = nullptr;

// Reading arguments -----------------------------------------------------------------------------

/// One call: checks and converts the arguments, then calls.
class Call {
 public:
  explicit Call(const CSignature& signature) : signature_(signature) {}

  void take(PyObject* const* args, Py_ssize_t count, PyObject* names);
  PyObject* run();

 private:
  template <class... Parts>
  [[noreturn]] void refuse(ErrorKind kind, const CParameter& parameter, const Parts&... parts) {
    fail(kind, signature_.name, "(): argument '", parameter.name, "' ", parts...);
  }
  template <class T>
  void store(const CParameter& parameter, T value) {
    std::memcpy(reinterpret_cast<char*>(&words_) + parameter.offset, &value, sizeof value);
  }
  void take_one(const CParameter& parameter, PyObject* value);
  void take_integer(const CParameter& parameter, PyObject* value);
  void take_tensor(const CParameter& parameter, const Tensor& tensor);
  void take_extents(const CParameter& parameter, const Tensor& tensor);
  void take_size(const CParameter& array, const CParameter& size, int64_t found);
  int argument_named(PyObject* name);
  PyObject* result();

  static constexpr int kMaxParameters = kGeneralRegisters + kVectorRegisters + kStackWords;
  const CSignature& signature_;
  CallWords words_;
  const CParameter* given_by_[kMaxParameters] = {};  // the array that gave a size
  struct TensorArgument {
    const CParameter* parameter;
    const Tensor* tensor;
  };
  TensorArgument tensors_[kMaxParameters];
  const Tensor* written_[kMaxParameters];
  int tensor_count_ = 0, written_count_ = 0;
  int64_t work_ = 0;
};

void Call::take(PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const auto wanted = static_cast<Py_ssize_t>(signature_.of_argument.size());
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  if (FLAMBEAU_UNLIKELY(count + named != wanted)) {
    fail(ErrorKind::type, signature_.name, "(): expected ", wanted, " arguments, got ",
         count + named);
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    take_one(signature_.parameters[static_cast<size_t>(signature_.of_argument[i])], args[i]);
  }
  uint64_t seen = (uint64_t{1} << count) - 1;
  for (Py_ssize_t i = 0; i < named; ++i) {
    const int index = argument_named(PyTuple_GET_ITEM(names, i));
    const CParameter& parameter =
        signature_.parameters[static_cast<size_t>(signature_.of_argument[index])];
    if (seen >> index & 1) refuse(ErrorKind::type, parameter, "is given twice");
    seen |= uint64_t{1} << index;
    take_one(parameter, args[count + i]);
  }
  // After the numbers: their conversion may run Python code, which may move a tensor's memory.
  for (int i = 0; i < tensor_count_; ++i) take_tensor(*tensors_[i].parameter, *tensors_[i].tensor);
}

int Call::argument_named(PyObject* name) {
  const std::string_view wanted = to_string(name);
  for (size_t i = 0; i < signature_.of_argument.size(); ++i) {
    if (signature_.parameters[static_cast<size_t>(signature_.of_argument[i])].name == wanted) {
      return static_cast<int>(i);
    }
  }
  fail(ErrorKind::type, signature_.name, "(): there is no argument '", wanted, "'");
}

FLAMBEAU_INLINE void Call::take_one(const CParameter& parameter, PyObject* value) {
  switch (parameter.passed) {
    case Passed::pointer:
      if (FLAMBEAU_LIKELY(is_tensor(value))) {
        tensors_[tensor_count_++] = {&parameter, &unwrap(value)};
        return;
      }
      if (value == Py_None && parameter.nullable) return store(parameter, int64_t{0});
      refuse(ErrorKind::type, parameter, "must be a Tensor", parameter.nullable ? " or None" : "",
             ", got ", describe_type(value));
    case Passed::integer:
      return take_integer(parameter, value);
    case Passed::float32:
    case Passed::float64:
      if (!PyFloat_CheckExact(value) && !is_number(value)) {
        refuse(ErrorKind::type, parameter, "must be a number, got ", describe_type(value));
      }
      if (parameter.passed == Passed::float64) return store(parameter, to_double(value));
      return store(parameter, static_cast<float>(to_double(value)));
  }
}

void Call::take_integer(const CParameter& parameter, PyObject* value) {
  if (parameter.bits == 1) {
    if (!PyBool_Check(value)) {
      refuse(ErrorKind::type, parameter, "must be a bool, got ", describe_type(value));
    }
    return store(parameter, int64_t{value == Py_True});
  }
  int64_t number;
  if (FLAMBEAU_UNLIKELY(!small_int(value, number))) {
    if (PyFloat_Check(value) || !is_number(value)) {
      refuse(ErrorKind::type, parameter, "must be an int, got ", describe_type(value));
    }
    if (!parameter.is_signed && parameter.bits == 64 && PyLong_Check(value)) {
      const unsigned long long large = PyLong_AsUnsignedLongLong(value);
      if (PyErr_Occurred()) throw_python_error();
      return store(parameter, large);
    }
    number = to_int(value);
  }
  if (parameter.bits < 64 || !parameter.is_signed) {
    const int width = std::min(parameter.bits, 63) - parameter.is_signed;
    const int64_t highest = static_cast<int64_t>((uint64_t{1} << width) - 1);
    const int64_t lowest = parameter.is_signed ? -highest - 1 : 0;
    if (number < lowest || number > highest) {
      refuse(ErrorKind::overflow, parameter, "is out of range for ",
             parameter.is_signed ? "int" : "uint", parameter.bits, ": ", number);
    }
  }
  store(parameter, number);
}

FLAMBEAU_INLINE void Call::take_tensor(const CParameter& parameter, const Tensor& tensor) {
  if (FLAMBEAU_UNLIKELY(!tensor.device().is_cpu())) {
    refuse(ErrorKind::runtime, parameter, "is on device ", tensor.device(),
           "; C functions take tensors on the CPU");
  }
  if (FLAMBEAU_UNLIKELY(parameter.dtype && tensor.dtype() != *parameter.dtype)) {
    refuse(ErrorKind::type, parameter, "must have dtype ", name(*parameter.dtype), ", got ",
           name(tensor.dtype()));
  }
  if (FLAMBEAU_UNLIKELY(!tensor.is_contiguous())) {
    refuse(ErrorKind::runtime, parameter, "must be contiguous, got shape ", tensor.sizes(),
           " with strides ", tensor.strides(), "; pass contiguous()");
  }
  if (FLAMBEAU_UNLIKELY(autograd::has_autograd(tensor))) {
    if ((grad_enabled() && autograd::requires_grad(tensor)) || autograd::has_tangent(tensor)) {
      refuse(ErrorKind::runtime, parameter,
             "requires grad, but the derivative of a C function is not known: pass detach(), call "
             "it under no_grad(), or give a derivative with flambeau.library.custom_op");
    }
  }
  store(parameter, tensor.raw_data());
  work_ += tensor.numel();
  if (parameter.writes) written_[written_count_++] = &tensor;
  if (parameter.is_array) take_extents(parameter, tensor);
}

FLAMBEAU_INLINE void Call::take_extents(const CParameter& parameter, const Tensor& tensor) {
  const size_t rank = parameter.extents.size();
  // x[n]: n elements, whatever the shape. a[m][n]: a matrix.
  if (rank > 1 && tensor.sizes().size() != rank) {
    refuse(ErrorKind::value, parameter, "must have ", rank, " dims, got shape ", tensor.sizes());
  }
  for (size_t i = 0; i < rank; ++i) {
    const Extent& extent = parameter.extents[i];
    const int64_t found = rank == 1 ? tensor.numel() : tensor.sizes()[i];
    if (extent.size >= 0) {
      take_size(parameter, signature_.parameters[static_cast<size_t>(extent.size)], found);
    } else if (found != extent.value) {
      refuse(ErrorKind::value, parameter, "must have ", extent.value, " elements in dim ", i,
             ", got shape ", tensor.sizes());
    }
  }
}

FLAMBEAU_INLINE void Call::take_size(const CParameter& array, const CParameter& size,
                                     int64_t found) {
  const CParameter*& giver = given_by_[&size - signature_.parameters.data()];
  if (giver) {
    int64_t known;
    std::memcpy(&known, reinterpret_cast<char*>(&words_) + size.offset, sizeof known);
    if (FLAMBEAU_UNLIKELY(known != found)) {
      refuse(ErrorKind::value, array, "has ", size.name, " = ", found, ", but '", giver->name,
             "' has ", size.name, " = ", known);
    }
    return;
  }
  giver = &array;
  if (size.bits < 64 && found >> (size.bits - size.is_signed) != 0) {
    refuse(ErrorKind::overflow, array, "is too large: ", size.name, " = ", found,
           " does not fit into ", size.bits, " bits");
  }
  store(size, found);
}

// Calling ---------------------------------------------------------------------------------------

PyObject* Call::result() {
  const CSignature& s = signature_;
  switch (s.returned) {
    case Returned::nothing:
      released(work_, [&] { call_words<void>(s.address, words_, s.uses_stack); });
      Py_RETURN_NONE;
    case Returned::float32:
      return PyFloat_FromDouble(
          released(work_, [&] { return call_words<float>(s.address, words_, s.uses_stack); }));
    case Returned::float64:
      return PyFloat_FromDouble(
          released(work_, [&] { return call_words<double>(s.address, words_, s.uses_stack); }));
    case Returned::boolean:
    case Returned::integer:
      break;
  }
  const int64_t word =
      released(work_, [&] { return call_words<int64_t>(s.address, words_, s.uses_stack); });
  if (s.returned == Returned::boolean) return PyBool_FromLong((word & 0xff) != 0);
  const int unused = 64 - s.bits;
  if (s.is_signed) return PyLong_FromLongLong(word << unused >> unused);
  return PyLong_FromUnsignedLongLong(static_cast<uint64_t>(word) << unused >> unused);
}

PyObject* Call::run() {
  for (int i = 0; i < written_count_; ++i) {
    autograd::check_inplace(*written_[i], signature_.name.c_str(), false);
  }
  PyObject* found = result();
  for (int i = 0; i < written_count_; ++i) written_[i]->bump_version();
  return found;
}

CFunction* cast(PyObject* object) { return reinterpret_cast<CFunction*>(object); }

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&]() -> PyObject* {
    Call call(*cast(self)->signature);
    call.take(args, PyVectorcall_NARGS(flags), names);
    return call.run();
  });
}

// Making ----------------------------------------------------------------------------------------

PyObject* item(PyObject* tuple, Py_ssize_t index) { return PyTuple_GET_ITEM(tuple, index); }

/// (bits, is_signed) of an integer's name: "int32", "uint8", "bool".
void read_integer(std::string_view type, int& bits, bool& is_signed) {
  is_signed = type[0] == 'i';
  bits = type == "bool" ? 1 : std::stoi(std::string(type.substr(is_signed ? 3 : 4)));
}

/// ("x", "pointer", dtype or None, writes, nullable, extents or None), ("n", "int64"), ...
CParameter read_parameter(PyObject* tuple) {
  CParameter parameter;
  parameter.name = to_string(item(tuple, 0));
  const std::string_view type = to_string(item(tuple, 1));
  if (type == "float32" || type == "float64") {
    parameter.passed = type == "float32" ? Passed::float32 : Passed::float64;
  } else if (type != "pointer") {
    read_integer(type, parameter.bits, parameter.is_signed);
  } else {
    parameter.passed = Passed::pointer;
    if (item(tuple, 2) != Py_None) parameter.dtype = to_dtype(item(tuple, 2));
    parameter.writes = item(tuple, 3) == Py_True;
    parameter.nullable = item(tuple, 4) == Py_True;
    PyObject* extents = item(tuple, 5);
    parameter.is_array = extents != Py_None;
    for (Py_ssize_t i = 0; parameter.is_array && i < PyTuple_GET_SIZE(extents); ++i) {
      const int64_t number = to_int(item(extents, i));  // -1 - index of a size, or a number
      parameter.extents.push_back(number < 0 ? Extent{-1, static_cast<int>(-1 - number)}
                                             : Extent{number, -1});
    }
  }
  return parameter;
}

/// Words and arguments in order; sizes that arrays give are no arguments.
void plan(CSignature& signature) {
  WordPlan words;
  std::vector<bool> is_given(signature.parameters.size());
  for (const CParameter& parameter : signature.parameters) {
    for (const Extent& extent : parameter.extents) {
      if (extent.size >= 0) is_given[static_cast<size_t>(extent.size)] = true;
    }
  }
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    CParameter& parameter = signature.parameters[i];
    const bool is_float =
        parameter.passed == Passed::float32 || parameter.passed == Passed::float64;
    parameter.offset = words.next(is_float);
    check(parameter.offset >= 0, ErrorKind::value, signature.name,
          "(): too many parameters: ", kStackWords, " may follow those that go into registers");
    if (is_given[i]) continue;
    parameter.argument = static_cast<int>(signature.of_argument.size());
    signature.of_argument.push_back(static_cast<int>(i));
  }
  signature.uses_stack = words.uses_stack();
}

void read_result(CSignature& signature, std::string_view type) {
  if (type == "void") return;
  if (type == "float32" || type == "float64") {
    signature.returned = type == "float32" ? Returned::float32 : Returned::float64;
    return;
  }
  signature.returned = type == "bool" ? Returned::boolean : Returned::integer;
  read_integer(type, signature.bits, signature.is_signed);
}

/// _make_c_function(name, address, result, parameters, library, doc)
PyObject* make(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    check(count == 6, ErrorKind::type, "_make_c_function(): expected 6 arguments");
    auto signature = std::make_unique<CSignature>();
    signature->name = to_string(args[0]);
    signature->address = reinterpret_cast<void*>(to_int(args[1]));
    read_result(*signature, to_string(args[2]));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[3]); ++i) {
      signature->parameters.push_back(read_parameter(item(args[3], i)));
    }
    plan(*signature);
    PyObject* object = checked(function_type->tp_alloc(function_type, 0)).release();
    CFunction* self = cast(object);
    self->call = vectorcall;
    self->signature = signature.release();
    self->name = Py_NewRef(args[0]);
    self->library = Py_NewRef(args[4]);
    self->doc = Py_NewRef(args[5]);
    return object;
  });
}

void dealloc(PyObject* object) {
  CFunction* self = cast(object);
  PyTypeObject* type = Py_TYPE(object);
  delete self->signature;
  for (PyObject* part : {self->library, self->name, self->doc, self->dict}) Py_XDECREF(part);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("<C function %U>", cast(self)->doc); }

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CFunction, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CFunction, dict), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(CFunction, name), READONLY, nullptr},
    {"__doc__", T_OBJECT, offsetof(CFunction, doc), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {
    "flambeau.ops.CFunction", sizeof(CFunction), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
PyMethodDef functions[] = {
    {"_make_c_function", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&make)),
     METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_c_function_type(PyObject* module) {
  function_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release());
  checked(PyModule_AddObjectRef(module, "_CFunction", reinterpret_cast<PyObject*>(function_type)));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace flambeau::python
