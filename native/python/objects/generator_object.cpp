#include "python/objects/generator_object.h"

#include <cstring>
#include <memory>
#include <unordered_map>

#include "core/random/generator.h"
#include "python/base/modules.h"
#include "python/base/type_object.h"
#include "python/calls/arguments.h"
#include "python/calls/define.h"
#include "python/calls/results.h"

namespace flambeau::python {

namespace {

struct GeneratorObject {
  PyObject_HEAD Generator* generator;
  bool owns;  ///< the default generator lives on its own
};

PyTypeObject* generator_type = nullptr;

/// The GIL protects it.
std::unordered_map<const Generator*, PyObject*>& objects() {
  static auto* const all = new std::unordered_map<const Generator*, PyObject*>;
  return *all;
}

Generator& generator_of(PyObject* self) {
  return *reinterpret_cast<GeneratorObject*>(self)->generator;
}

/// Any int is a seed; negative ones count from 2^64.
uint64_t seed_of(PyObject* value) {
  check(accepts(Parameter{"", Kind::integer}, value), ErrorKind::type,
        "manual_seed(): the seed must be an int, not ", describe_type(value));
  const PyRef index = checked(PyNumber_Index(value));
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow == 0) return static_cast<uint64_t>(small);
  const unsigned long long large = PyLong_AsUnsignedLongLong(index.get());
  if (PyErr_Occurred()) throw_python_error();
  return large;
}

PyObject* state_tensor(const Generator& generator) {
  const Generator::State state = generator.state();
  const Tensor tensor = empty(Shape{static_cast<int64_t>(state.size())}, DType::uint8);
  std::memcpy(tensor.raw_data(), state.data(), state.size());
  return to_python(tensor);
}

void set_state(Generator& generator, PyObject* value) {
  check(is_tensor(value), ErrorKind::type, "set_state(): the state must be a Tensor of uint8, not ",
        describe_type(value));
  const Tensor& given = unwrap(value);
  check(given.dtype() == DType::uint8 && given.numel() == Generator::kStateBytes,
        ErrorKind::runtime, "set_state(): the state must be ", Generator::kStateBytes,
        " elements of uint8 as get_state() gives them, got shape ", given.sizes(), " and dtype ",
        given.dtype());
  check(given.device().is_cpu(), ErrorKind::runtime, "set_state(): the state is on ",
        given.device(), ", expected the CPU");
  const Tensor dense = contiguous_data(given);
  Generator::State state;
  std::memcpy(state.data(), dense.raw_data(), state.size());
  generator.set_state(state);
}

// The type --------------------------------------------------------------------------------------

PyObject* make(PyTypeObject* type, std::unique_ptr<Generator> generator) {
  PyObject* self = checked(type->tp_alloc(type, 0)).release();
  reinterpret_cast<GeneratorObject*>(self)->generator = generator.release();
  reinterpret_cast<GeneratorObject*>(self)->owns = true;
  objects().emplace(&generator_of(self), self);
  return self;
}

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:Generator", const_cast<char**>(names),
                                   &device)) {
    return nullptr;
  }
  return guarded([&] {
    if (device != Py_None) to_device(device);
    return make(type, std::make_unique<Generator>());
  });
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  const auto* object = reinterpret_cast<GeneratorObject*>(self);
  if (object->owns) {
    objects().erase(object->generator);
    delete object->generator;
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    generator_of(self).manual_seed(seed_of(seed));
    return Py_NewRef(self);
  });
}
PyObject* seed(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(generator_of(self).seed()); });
}
PyObject* initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).initial_seed());
}
PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] { return state_tensor(generator_of(self)); });
}
PyObject* set_state_of(PyObject* self, PyObject* state) {
  return guarded([&]() -> PyObject* {
    set_state(generator_of(self), state);
    Py_RETURN_NONE;
  });
}
PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&] {
    auto copy = std::make_unique<Generator>();
    copy->set_state(generator_of(self).state());
    return make(Py_TYPE(self), std::move(copy));
  });
}
PyObject* get_device(PyObject*, void*) {
  return guarded([] { return to_python(Device{}); });
}

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O,
     "manual_seed(seed)\n--\n\nStarts over from a seed; returns self."},
    {"seed", seed, METH_NOARGS,
     "seed()\n--\n\nSeeds from the system's entropy and returns the seed."},
    {"initial_seed", initial_seed, METH_NOARGS,
     "initial_seed()\n--\n\nThe seed that it started from."},
    {"get_state", get_state, METH_NOARGS, "get_state()\n--\n\nThe state as a tensor of bytes."},
    {"set_state", set_state_of, METH_O,
     "set_state(new_state)\n--\n\nGoes back to a state of get_state()."},
    {"clone_state", clone_state, METH_NOARGS,
     "clone_state()\n--\n\nA generator of its own that goes on from the same state."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"device", get_device, nullptr,
                             "The CPU: its stream of numbers is that of every device.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(construct)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc,
     const_cast<char*>(
         "Generator(device=None)\n--\n\n"
         "A source of random numbers with a state of its own: a seed and a "
         "counter."
         "\n\nExample:\n"
         "    >>> generator = flambeau.Generator()\n"
         "    >>> first = flambeau.rand(2, generator=generator.manual_seed(5))\n"
         "    >>> flambeau.equal(flambeau.rand(2, generator=generator.manual_seed(5)), first)\n"
         "    True")},
    {0, nullptr}};
PyType_Spec spec = {"flambeau.Generator", sizeof(GeneratorObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

// The default one -------------------------------------------------------------------------------

PyObject* default_object = nullptr;

PyRef seed_default(PyObject* seed) {
  default_generator().manual_seed(seed_of(seed));
  return PyRef::borrow(default_object);
}
uint64_t seed_by_entropy() { return default_generator().seed(); }
uint64_t default_initial_seed() { return default_generator().initial_seed(); }
PyRef default_state() { return PyRef(state_tensor(default_generator())); }
void set_default_state(PyObject* state) { set_state(default_generator(), state); }

constexpr Parameter seed_parameter[] = {{"seed", Kind::object}};
constexpr Parameter state_parameter[] = {{"new_state", Kind::object}};

PyMethodDef functions[] = {
    define<"manual_seed", seed_default, seed_parameter>(
        "manual_seed(seed)\n--\n\n"
        "Seeds the default generator, for every device; returns it."
        "\n\nExample:\n"
        "    >>> generator = flambeau.manual_seed(0)\n"
        "    >>> first = flambeau.rand(2)\n"
        "    >>> generator = flambeau.manual_seed(0)\n"
        "    >>> flambeau.equal(flambeau.rand(2), first)\n"
        "    True"),
    define<"seed", seed_by_entropy>(
        "seed()\n--\n\n"
        "Seeds the default generator from the system's entropy; returns the seed."
        "\n\nExample:\n"
        "    >>> seed = flambeau.seed()\n"
        "    >>> first = flambeau.rand(2)\n"
        "    >>> _ = flambeau.manual_seed(seed)  # draws the same again\n"
        "    >>> flambeau.equal(flambeau.rand(2), first)\n"
        "    True"),
    define<"initial_seed", default_initial_seed>(
        "initial_seed()\n--\n\nThe seed that the default generator started from."
        "\n\nExample:\n"
        "    >>> generator = flambeau.manual_seed(3)\n"
        "    >>> flambeau.initial_seed()\n"
        "    3"),
    define<"get_rng_state", default_state>(
        "get_rng_state()\n--\n\nThe state of the default generator as a tensor of bytes."
        "\n\nExample:\n"
        "    >>> state = flambeau.get_rng_state()\n"
        "    >>> first = flambeau.rand(2)\n"
        "    >>> flambeau.set_rng_state(state)\n"
        "    >>> flambeau.equal(flambeau.rand(2), first)\n"
        "    True"),
    define<"set_rng_state", set_default_state, state_parameter>(
        "set_rng_state(new_state)\n--\n\nSets the state of the default generator."
        "\n\nExample:\n"
        "    >>> state = flambeau.get_rng_state()\n"
        "    >>> flambeau.set_rng_state(state)"),
    kNoMore};

}  // namespace

bool is_generator(PyObject* value) { return PyObject_TypeCheck(value, generator_type); }

Generator* to_generator(PyObject* slot) { return given(slot) ? &generator_of(slot) : nullptr; }

PyObject* object_of(const Generator* generator) {
  const auto found = objects().find(generator);
  return found == objects().end() ? Py_None : found->second;
}

void add_generator(PyObject* module) {
  generator_type = add_type(module, spec);
  default_object = checked(generator_type->tp_alloc(generator_type, 0)).release();
  reinterpret_cast<GeneratorObject*>(default_object)->generator = &default_generator();
  checked(PyModule_AddObjectRef(module, "default_generator", default_object));
  add_functions(module, functions);
}

}  // namespace flambeau::python
