#include <pybind11/pybind11.h>

#include "core/backends/dispatch.h"
#include "core/tensor/promotion.h"
#include "core/threads/parallel.h"
#include "python/autograd/autograd_bindings.h"
#include "python/base/c_function.h"
#include "python/base/errors.h"
#include "python/base/generated.h"
#include "python/base/sequences.h"
#include "python/base/signals.h"
#include "python/calls/arguments.h"
#include "python/calls/results.h"
#include "python/interop/interop.h"
#include "python/module/docstrings.h"
#include "python/module/module.h"
#include "python/objects/construct.h"
#include "python/objects/device_object.h"
#include "python/objects/dtype_object.h"
#include "python/objects/generator_object.h"
#include "python/objects/layout_object.h"
#include "python/objects/size_object.h"
#include "python/objects/storage_object.h"
#include "python/objects/tensor_object.h"

namespace py = pybind11;

namespace flambeau::python {

namespace {

py::object steal(PyObject* object) {
  return py::reinterpret_steal<py::object>(checked(object).release());
}

Backend backend_of(const py::object& device) {
  return device.is_none() ? Backend::cpu : to_device(device.ptr()).backend;
}

py::dict kernel_origins(const py::object& device) {
  constexpr const char* names[] = {"missing", "own", "composed", "host"};
  py::dict result;
  for (const KernelState& state : kernel_states(backend_of(device)))
    result[py::str(state.op)] = names[static_cast<int>(state.origin)];
  return result;
}

bool prefer_cpu_composition(const std::string& op, bool prefer) {
  return prefer_composition(op, Backend::cpu, prefer);
}

py::dict memory_stats(const py::object& device) {
  const AllocatorStatistics now = allocator(backend_of(device)).statistics();
  py::dict result;
  result["allocated_bytes"] = now.allocated_bytes;
  result["peak_allocated_bytes"] = now.peak_allocated_bytes;
  result["reserved_bytes"] = now.reserved_bytes;
  result["peak_reserved_bytes"] = now.peak_reserved_bytes;
  result["allocations"] = now.allocations;
  result["system_allocations"] = now.system_allocations;
  return result;
}

void add_memory_functions(py::module_& module) {
  module.def("memory_stats", &memory_stats, py::arg("device") = py::none(),
             "memory_stats(device=None)\n--\n\n"
             "What a device's allocator has handed out and holds, in bytes and counts.");
  module.def(
      "empty_cache",
      [](const py::object& device) { allocator(backend_of(device)).release_cached(); },
      py::arg("device") = py::none(),
      "empty_cache(device=None)\n--\n\n"
      "Gives cached memory back to the system.");
  module.def(
      "reset_peak_memory_stats",
      [](const py::object& device) { allocator(backend_of(device)).reset_peak(); },
      py::arg("device") = py::none(),
      "reset_peak_memory_stats(device=None)\n--\n\n"
      "Starts the peaks of memory_stats() over.");
  module.def(
      "set_cpu_cache_limit", [](size_t bytes) { set_cpu_cache_limit(bytes); }, py::arg("bytes"),
      "set_cpu_cache_limit(bytes)\n--\n\n"
      "How many freed bytes the CPU allocator may keep for reuse.");
}

void add_settings(py::module_& module) {
  module.def(
      "get_num_threads", [] { return num_threads(); },
      "get_num_threads()\n--\n\n"
      "How many threads one operation may use.");
  module.def(
      "set_num_threads",
      [](int count) {
        check(count > 0, ErrorKind::runtime, "set_num_threads(): needs a positive count, got ",
              count);
        set_num_threads(count);
      },
      py::arg("count"),
      "set_num_threads(count)\n--\n\n"
      "Sets how many threads one operation may use.");
  module.def(
      "get_default_dtype", [] { return steal(to_python(default_dtype())); },
      "get_default_dtype()\n--\n\n"
      "The dtype of floats for which none is given.");
  module.def(
      "set_default_dtype",
      [](const py::object& dtype) {
        check(is_dtype(dtype.ptr()), ErrorKind::type,
              "set_default_dtype(): expected a flambeau.dtype, got ", describe_type(dtype.ptr()));
        set_default_dtype(to_dtype(dtype.ptr()));
      },
      py::arg("dtype"),
      "set_default_dtype(dtype)\n--\n\n"
      "Sets the dtype of floats for which none is given; a floating type.");
  module.def(
      "_kernel_origins", &kernel_origins, py::arg("device"),
      "_kernel_origins(device)\n--\n\n"
      "What runs each operator on a device: its own kernel, a composition, the host, nothing.");
  module.def(
      "_prefer_composition", &prefer_cpu_composition, py::arg("op"), py::arg("prefer"),
      "_prefer_composition(op, prefer)\n--\n\n"
      "Whether an operator runs its composition on the CPU from now on, instead of its kernel.");
  module.def(
      "_cpu_capability",
      [] {
        constexpr const char* names[] = {"baseline", "avx2", "avx512"};
        return names[static_cast<int>(instruction_set())];
      },
      "_cpu_capability()\n--\n\n"
      "The instruction set that CPU loops use.");
}

Operand promoted_operand(const py::object& value) {
  check(is_tensor(value.ptr()) || is_number(value.ptr()), ErrorKind::type,
        "result_type(): expected tensors or numbers, got ", describe_type(value.ptr()));
  return to_operand(value.ptr());
}

void add_dtype_functions(py::module_& module) {
  module.def(
      "promote_types",
      [](const py::object& a, const py::object& b) {
        return steal(to_python(promote(to_dtype(a.ptr()), to_dtype(b.ptr()))));
      },
      py::arg("type1"), py::arg("type2"),
      "promote_types(type1, type2)\n--\n\n"
      "The smallest dtype that holds both.");
  module.def(
      "can_cast",
      [](const py::object& from, const py::object& to) {
        return can_cast(to_dtype(from.ptr()), to_dtype(to.ptr()));
      },
      py::arg("from_"), py::arg("to"),
      "can_cast(from_, to)\n--\n\n"
      "Whether promotion allows the conversion.");
  module.def(
      "result_type",
      [](const py::object& a, const py::object& b) {
        Promotion promotion;
        for (const py::object* value : {&a, &b}) {
          const Operand operand = promoted_operand(*value);
          operand.is_tensor() ? promotion.add(operand.tensor()) : promotion.add(operand.scalar());
        }
        return steal(to_python(*promotion.result()));
      },
      py::arg("tensor1"), py::arg("tensor2"),
      "result_type(tensor1, tensor2)\n--\n\n"
      "The dtype of arithmetic on the two.");
}

py::tuple elements_of(const std::string& op, const py::object& values) {
  return py::reinterpret_steal<py::tuple>(tuple_of(values.ptr(), op.c_str()).release());
}

/// flambeau.return_types.NAME
py::object return_type(const std::string& name) {
  NamedResult* result = NamedResult::find(name.c_str());
  if (!result) throw py::attribute_error("flambeau.return_types has no '" + name + "'");
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(result->type()));
}

/// As PyModule_AddFunctions does, but errors name the module that users know: flambeau.
void add_functions(const py::module_& module, PyMethodDef* functions) {
  std::string known = py::str(module.attr("__name__"));
  if (known.find("._C._") == std::string::npos) known.erase(known.find("._C"), 3);
  const py::str name(known);
  for (PyMethodDef* function = functions; function->ml_name; ++function) {
    const py::object object = steal(PyCFunction_NewEx(function, module.ptr(), name.ptr()));
    checked(PyModule_AddObjectRef(module.ptr(), function->ml_name, object.ptr()));
  }
}

/// Functions go into submodules by namespace: _C.nn.functional.
void add_generated_functions(py::module_& module) {
  for (const FunctionNamespace* space = generated_namespaces; space->name; ++space) {
    py::module_ target = module;
    std::string path = space->name, part;
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find('.', begin), path.size());
      target = target.def_submodule(path.substr(begin, end - begin).c_str());
      begin = end + 1;
    }
    add_functions(target, space->functions);
  }
}

}  // namespace

void initialize_module(PyObject* module_object) {
  auto module = py::reinterpret_borrow<py::module_>(module_object);
  module.doc() = "The compiled part of flambeau; import flambeau instead.";
  // Docstrings begin with a signature of Python's, which inspect reads; pybind11's name C++ types.
  py::options options;
  options.disable_function_signatures();
  try {
    // Before anything else throws: exceptions of pybind11's functions take the same way.
    py::register_exception_translator([](std::exception_ptr error) {
      try {
        if (error) std::rethrow_exception(error);
      } catch (const PythonError&) {
        raise_current_exception();
      } catch (const flambeau::Error&) {
        raise_current_exception();
      }
    });
    check_registration("");
    attach_docstrings();
    add_exceptions(module.ptr());
    add_dtypes(module.ptr());
    add_device_type(module.ptr());
    add_layouts(module.ptr());
    add_size_type(module.ptr());
    add_storage_type(module.ptr());
    add_tensor_type(module.ptr());
    add_generator(module.ptr());
    add_c_function_type(module.ptr());
    for (PyMethodDef* functions : {construction_functions, buffer_functions, dlpack_functions}) {
      add_functions(module, functions);
    }
    add_memory_functions(module);
    add_settings(module);
    add_dtype_functions(module);
    module.def("_elements", &elements_of, py::arg("op"), py::arg("values"),
               "_elements(op, values)\n--\n\n"
               "A tuple of what a sequence or an iterator holds; ValueError that names `op` when "
               "memory cannot hold it.");
    module.def("_return_type", &return_type, py::arg("name"),
               "_return_type(name)\n--\n\n"
               "The named tuple flambeau.return_types.NAME.");
    add_generated_functions(module);
    bind_autograd(module.ptr());
    watch_signals();
  } catch (const PythonError& error) {
    error.restore();
    throw py::error_already_set();
  }
}

}  // namespace flambeau::python
