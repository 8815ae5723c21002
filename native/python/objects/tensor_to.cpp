#include <algorithm>

#include "ops/creation.h"
#include "ops/memory_format.h"
#include "python/base/names.h"
#include "python/calls/overrides.h"
#include "python/calls/parser.h"
#include "python/calls/results.h"
#include "python/objects/layout_object.h"
#include "python/objects/tensor_members.h"

namespace flambeau::python {

namespace {

/// "contiguous_format" and its kin.
std::string_view format_name(PyObject* format, const char* op) {
  if (!given(format)) return "preserve_format";
  check(is_memory_format(format), ErrorKind::type, op,
        ": memory_format must be a flambeau.memory_format, not ", describe_type(format));
  return memory_format_name(format);
}

bool is_same_place(Device wanted, Device seen) {
  return wanted.backend == seen.backend && (wanted.index < 0 || wanted.index == seen.index);
}

struct Conversion {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool non_blocking = false, copy = false;
  PyObject* format = nullptr;
};

/// The tensor itself when nothing changes.
PyObject* convert(PyObject* self, const Conversion& wanted, const char* op) {
  const Tensor& tensor = unwrap(self);
  const std::string_view format = format_name(wanted.format, op);
  const bool same_dtype = !wanted.dtype || *wanted.dtype == tensor.dtype();
  const bool same_device = !wanted.device || is_same_place(*wanted.device, tensor.device());
  const bool converts = wanted.copy || !same_dtype || !same_device;
  if (!converts && format == "preserve_format") return Py_NewRef(self);
  return to_python(released(work_of(tensor), [&] {
    Tensor result = tensor;
    if (converts) result = ops::_to_copy(tensor, wanted.dtype, wanted.device, wanted.non_blocking);
    return format == "preserve_format" ? result : ops::contiguous_format(result, format);
  }));
}

constexpr Parameter to_dtype_parameters[] = {{"self", Kind::tensor},
                                             {"dtype", Kind::dtype},
                                             {"non_blocking", Kind::boolean, "False"},
                                             {"copy", Kind::boolean, "False"},
                                             {"memory_format", Kind::object, "None", kKeywordOnly}};
constexpr Parameter to_device_parameters[] = {
    {"self", Kind::tensor},
    {"device", Kind::device, "None", kNone},
    {"dtype", Kind::dtype, "None", kNone},
    {"non_blocking", Kind::boolean, "False"},
    {"copy", Kind::boolean, "False"},
    {"memory_format", Kind::object, "None", kKeywordOnly}};
constexpr Parameter to_other_parameters[] = {{"self", Kind::tensor},
                                             {"other", Kind::tensor},
                                             {"non_blocking", Kind::boolean, "False"},
                                             {"copy", Kind::boolean, "False"},
                                             {"memory_format", Kind::object, "None", kKeywordOnly}};
constexpr Overload to_overloads[] = {{to_dtype_parameters, kMethod, 0},
                                     {to_device_parameters, kMethod, 0},
                                     {to_other_parameters, kMethod, 0}};
constexpr Binding to_binding("to", to_overloads);

/// What those who are asked make of a call; null where nobody is.
PyRef overridden_conversion(const Binding& binding, PyObject* self, PyObject* const* args,
                            Py_ssize_t count, PyObject* names) {
  const auto is_foreign = [](PyObject* object) { return may_override(object); };
  if (!asks(self) && std::none_of(args, args + count, is_foreign)) return {};
  return overridden(binding, self, args, count, names);
}

PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (PyRef result = overridden_conversion(to_binding, self, args, count, names)) {
      return result.release();
    }
    Slots<6> slots;
    const Parsed in = parse(to_binding, self, args, count, names, slots);
    Conversion wanted;
    const int shift = in.overload == 1;
    wanted.non_blocking = to_bool(in[2 + shift], false);
    wanted.copy = to_bool(in[3 + shift], false);
    wanted.format = in[4 + shift];
    if (in.overload == 0) {
      wanted.dtype = to_dtype(in[1]);
    } else if (in.overload == 1) {
      wanted.device = to_optional_device(in[1]);
      wanted.dtype = to_optional_dtype(in[2]);
    } else {
      const Tensor& other = unwrap(in[1]);
      wanted.dtype = other.dtype();
      wanted.device = other.device();
    }
    return convert(self, wanted, "to()");
  });
}

/// x.float() and its kin.
constexpr Parameter format_parameters[] = {{"self", Kind::tensor},
                                           {"memory_format", Kind::object, "None"}};
constexpr Overload format_overloads[] = {{format_parameters, kMethod, 0}};
constexpr Binding cpu_binding("cpu", format_overloads);

template <Literal method>
constexpr Binding cast_binding{method.text, format_overloads};

template <Literal method, DType dtype>
PyObject* cast(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    constexpr const Binding& binding = cast_binding<method>;
    if (PyRef result = overridden_conversion(binding, self, args, count, names)) {
      return result.release();
    }
    Conversion wanted;
    wanted.dtype = dtype;
    if (count > 0 || names) {
      Slots<2> slots;
      wanted.format = parse(binding, self, args, count, names, slots)[1];
    }
    return convert(self, wanted, name(dtype));
  });
}

PyObject* cpu(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (PyRef result = overridden_conversion(cpu_binding, self, args, count, names)) {
      return result.release();
    }
    Slots<2> slots;
    Conversion wanted;
    wanted.device = Device{};
    wanted.format = parse(cpu_binding, self, args, count, names, slots)[1];
    return convert(self, wanted, "cpu()");
  });
}

constexpr Parameter cuda_parameters[] = {{"self", Kind::tensor},
                                         {"device", Kind::device, "None", kNone},
                                         {"non_blocking", Kind::boolean, "False"},
                                         {"memory_format", Kind::object, "None"}};
constexpr Overload cuda_overloads[] = {{cuda_parameters, kMethod, 0}};
constexpr Binding cuda_binding("cuda", cuda_overloads);

PyObject* cuda(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (PyRef result = overridden_conversion(cuda_binding, self, args, count, names)) {
      return result.release();
    }
    Slots<4> slots;
    const Parsed in = parse(cuda_binding, self, args, count, names, slots);
    Conversion wanted;
    wanted.device = to_optional_device(in[1]).value_or(Device{Backend::cuda, -1});
    check(wanted.device->backend == Backend::cuda, ErrorKind::value,
          "cuda(): expected a CUDA device, got ", *wanted.device);
    wanted.non_blocking = to_bool(in[2], false);
    wanted.format = in[3];
    return convert(self, wanted, "cuda()");
  });
}

PyObject* type_as(PyObject* self, PyObject* other) {
  return guarded([&]() -> PyObject* {
    if (asks(self, other)) {
      PyObject* const args[] = {self, other};
      if (PyRef result = overridden("type_as", args)) return result.release();
    }
    check(is_tensor(other), ErrorKind::type, "type_as(): expected a Tensor, got ",
          describe_type(other));
    Conversion wanted;
    wanted.dtype = unwrap(other).dtype();
    wanted.device = unwrap(other).device();
    return convert(self, wanted, "type_as()");
  });
}

template <class Function>
PyCFunction c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

#define FLAMBEAU_CAST(method, dtype)                                \
  {                                                                 \
#method, c_function(cast <#method, DType::dtype>), kFast,       \
        #method                                                     \
        "(memory_format=None)\n--\n\n"                              \
        "The tensor as " #dtype "; itself when it is that already." \
  }

PyMethodDef conversion_to_methods[] = {
    {"to", c_function(to), kFast,
     "to(dtype), to(device, dtype=None), to(other)\n\n"
     "The tensor with another dtype, on another device, or like another tensor; itself when "
     "nothing\n"
     "changes and `copy` is False. Further: non_blocking=False, copy=False, memory_format."},
    {"cpu", c_function(cpu), kFast, "cpu(memory_format=None)\n--\n\nThe tensor in host memory."},
    {"cuda", c_function(cuda), kFast,
     "cuda(device=None, non_blocking=False, memory_format=None)\n--\n\nThe tensor on a CUDA "
     "device."},
    {"type_as", type_as, METH_O, "type_as(other, /)\n--\n\nThe tensor with the dtype of another."},
    FLAMBEAU_CAST(bool, bool_),
    FLAMBEAU_CAST(byte, uint8),
    FLAMBEAU_CAST(char, int8),
    FLAMBEAU_CAST(short, int16),
    FLAMBEAU_CAST(int, int32),
    FLAMBEAU_CAST(long, int64),
    FLAMBEAU_CAST(half, float16),
    FLAMBEAU_CAST(bfloat16, bfloat16),
    FLAMBEAU_CAST(float, float32),
    FLAMBEAU_CAST(double, float64),
    FLAMBEAU_CAST(cfloat, complex64),
    FLAMBEAU_CAST(cdouble, complex128),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace flambeau::python
