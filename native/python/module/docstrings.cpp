#include "python/module/docstrings.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "python/base/beside.h"
#include "python/base/errors.h"
#include "python/base/generated.h"

namespace flambeau::python {

namespace {

/// After each docstring: ASCII's separator of units, and the end of the line.
constexpr char kEnd[] = "\x1f\n";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    PyErr_Format(PyExc_ImportError, "flambeau: cannot read %s: install it anew", path.c_str());
    throw_python_error();
  }
  return text;
}

/// Lets an entry point to the text at `next`; returns what follows it. Null where there is none.
char* attach(PyMethodDef& entry, char* next) {
  char* const end = next ? strstr(next, kEnd) : nullptr;
  if (!end) return nullptr;
  *end = '\0';
  entry.ml_doc = next;
  return end + strlen(kEnd);
}

}  // namespace

void attach_docstrings() {
  const void* const here = reinterpret_cast<const void*>(&attach_docstrings);
  const std::string path = beside("flambeau", here, "docstrings.txt");
  static std::string text;  // the tables point into it
  text = read(path);
  char* next = text.data();
  for (const FunctionNamespace* space = generated_namespaces; space->name; ++space) {
    for (BoundFunction& function : space->functions) next = attach(function.method, next);
  }
  for (PyMethodDef* method = generated_methods; method->ml_name; ++method) {
    next = attach(*method, next);
  }
  if (!next || *next != '\0') {
    PyErr_Format(PyExc_ImportError, "flambeau: %s is of another build: install it anew",
                 path.c_str());
    throw_python_error();
  }
}

}  // namespace flambeau::python
