#include "python/generator_object.h"

#include <pybind11/pybind11.h>

#include <cstring>

#include "core/generator.h"
#include "python/arguments.h"
#include "python/results.h"

namespace flambeau::python {

namespace py = pybind11;

namespace {

PyTypeObject* generator_type = nullptr;

/// Any int is a seed; negative ones count from 2^64.
uint64_t seed_of(const py::object& value) {
  check(accepts(Parameter{"", Kind::integer}, value.ptr()), ErrorKind::type,
        "manual_seed(): the seed must be an int, not ", describe_type(value.ptr()));
  const PyRef index = checked(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(small);
  const unsigned long long large = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred()) throw_python_error();
  return large;
}

py::object state_tensor(const Generator& generator) {
  const Generator::State state = generator.state();
  const Tensor tensor = empty(Shape{static_cast<int64_t>(state.size())}, DType::uint8);
  std::memcpy(tensor.raw_data(), state.data(), state.size());
  return py::reinterpret_steal<py::object>(to_python(tensor));
}

void set_state(Generator& generator, const py::object& value) {
  check(is_tensor(value.ptr()), ErrorKind::type,
        "set_state(): the state must be a Tensor of uint8, not ", describe_type(value.ptr()));
  const Tensor& given = unwrap(value.ptr());
  check(given.dtype() == DType::uint8 && given.numel() == Generator::kStateBytes,
        ErrorKind::runtime, "set_state(): the state must be ", Generator::kStateBytes,
        " elements of uint8 as get_state() gives them, got shape ", given.sizes(), " and dtype ",
        given.dtype());
  const Tensor dense = contiguous_data(given);
  Generator::State state;
  std::memcpy(state.data(), dense.raw_data(), state.size());
  generator.set_state(state);
}

void check_device(const py::object& device) {
  if (!device.is_none()) to_device(device.ptr());
}

}  // namespace

bool is_generator(PyObject* value) { return PyObject_TypeCheck(value, generator_type); }

Generator* to_generator(PyObject* slot) {
  if (!given(slot)) return nullptr;
  return py::cast<Generator*>(py::handle(slot));
}

void add_generator(PyObject* module_object) {
  auto module = py::reinterpret_borrow<py::module_>(module_object);
  py::class_<Generator> generator(
      module, "Generator",
      "A source of random numbers with a state of its own: a seed and a counter.");
  generator
      .def(py::init([](const py::object& device) {
             check_device(device);
             return std::make_unique<Generator>();
           }),
           py::arg("device") = py::none())
      .def(
          "manual_seed",
          [](const py::object& self, const py::object& seed) {
            self.cast<Generator&>().manual_seed(seed_of(seed));
            return self;
          },
          py::arg("seed"),
          "manual_seed(seed)\n--\n\n"
          "Starts over from a seed; returns self.")
      .def("seed", &Generator::seed,
           "seed()\n--\n\n"
           "Seeds from the system's entropy and returns the seed.")
      .def("initial_seed", &Generator::initial_seed,
           "initial_seed()\n--\n\n"
           "The seed that it started from.")
      .def("get_state", &state_tensor,
           "get_state()\n--\n\n"
           "The state as a tensor of bytes.")
      .def("set_state", &set_state, py::arg("new_state"),
           "set_state(new_state)\n--\n\n"
           "Goes back to a state of get_state().")
      .def_property_readonly(
          "device",
          [](const Generator&) { return py::reinterpret_steal<py::object>(to_python(Device{})); },
          "The CPU: its stream of numbers is that of every device.");
  generator_type = reinterpret_cast<PyTypeObject*>(generator.ptr());
  generator.attr("__module__") = "flambeau";
  py::object shared = py::cast(&default_generator(), py::return_value_policy::reference);
  module.attr("default_generator") = shared;
  module.def(
      "manual_seed",
      [shared](const py::object& seed) {
        default_generator().manual_seed(seed_of(seed));
        return shared;
      },
      py::arg("seed"),
      "manual_seed(seed)\n--\n\n"
      "Seeds the default generator, for every device; returns it.");
  module.def(
      "seed", [] { return default_generator().seed(); },
      "seed()\n--\n\n"
      "Seeds the default generator from the system's entropy; returns the seed.");
  module.def(
      "initial_seed", [] { return default_generator().initial_seed(); },
      "initial_seed()\n--\n\n"
      "The seed that the default generator started from.");
  module.def(
      "get_rng_state", [] { return state_tensor(default_generator()); },
      "get_rng_state()\n--\n\n"
      "The state of the default generator as a tensor of bytes.");
  module.def(
      "set_rng_state", [](const py::object& state) { set_state(default_generator(), state); },
      py::arg("new_state"),
      "set_rng_state(new_state)\n--\n\n"
      "Sets the state of the default generator.");
}

}  // namespace flambeau::python
