#pragma once

#include <Python.h>

#include "core/random/generator.h"

namespace flambeau::python {

bool is_generator(PyObject* value);
/// flambeau.Generator, default_generator, manual_seed(), seed(), initial_seed(), get_rng_state(),
/// set_rng_state().
void add_generator(PyObject* module);
/// The object of a generator; borrowed.
PyObject* object_of(const Generator* generator);

}  // namespace flambeau::python
