#include "python/base/errors.h"

#include <algorithm>
#include <cctype>
#include <new>
#include <string_view>

#include "python/base/generated.h"
#include "python/base/gil.h"
#include "python/base/names.h"

namespace flambeau::python {

PyObject* out_of_memory_error = nullptr;
PyObject* linalg_error = nullptr;

/// The exception, owned; the last copy may die on a thread without the GIL.
struct PythonError::State {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  State() = default;
  State(const State&) = delete;
  ~State() {
    if (!interpreter_alive()) return;
    const AcquireGil gil;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  }
};

PythonError::PythonError() : state_(std::make_shared<State>()) {
  PyErr_Fetch(&state_->type, &state_->value, &state_->traceback);
  PyErr_NormalizeException(&state_->type, &state_->value, &state_->traceback);
  if (state_->type != nullptr) message_ = reinterpret_cast<PyTypeObject*>(state_->type)->tp_name;
  if (state_->value != nullptr) {
    const PyRef text(PyObject_Str(state_->value));
    const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (utf8 != nullptr) message_ += std::string(": ") + utf8;
    PyErr_Clear();
  }
}

void PythonError::restore() const {
  PyErr_Restore(Py_XNewRef(state_->type), Py_XNewRef(state_->value), Py_XNewRef(state_->traceback));
}

void throw_python_error() { throw PythonError(); }

namespace {

PyObject* exception_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::runtime:
      return PyExc_RuntimeError;
    case ErrorKind::value:
      return PyExc_ValueError;
    case ErrorKind::type:
      return PyExc_TypeError;
    case ErrorKind::index:
      return PyExc_IndexError;
    case ErrorKind::not_implemented:
      return PyExc_NotImplementedError;
    case ErrorKind::out_of_memory:
      return out_of_memory_error;
    case ErrorKind::overflow:
      return PyExc_OverflowError;
    case ErrorKind::linalg:
      return linalg_error;
  }
  return PyExc_RuntimeError;
}

bool is_internal(std::string_view name) {
  return std::ranges::binary_search(internal_operators, name);
}
bool is_operator(std::string_view name) { return std::ranges::binary_search(operator_names, name); }

/// Without the namespace, which messages of operators leave out.
std::string_view last_part(std::string_view called) {
  return called.substr(called.rfind('.') + 1);  // npos + 1 is 0
}
/// The operator that a function is a form of: "add" of "add_".
std::string_view operator_of(std::string_view function) {
  const std::string_view stem = function.substr(0, function.size() - function.ends_with('_'));
  return is_operator(stem) ? stem : function;
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The text with the word that functions have for the receiver of a method.
std::string with_input(std::string text) {
  constexpr std::string_view own = kReceiver, shown = kFirst;
  for (size_t at = text.find(own); at != std::string::npos; at = text.find(own, at + 1)) {
    const size_t end = at + own.size();
    if ((at > 0 && (is_letter(text[at - 1]) || text[at - 1] == '.')) ||
        (end < text.size() && is_letter(text[end]))) {
      continue;
    }
    text.replace(at, own.size(), shown);
  }
  return text;
}

/// What users are told of a call: operators call others, whose messages begin with names of their
/// own. The outermost one is what was called.
std::string public_message(const std::string& message, const char* called, bool is_function) {
  if (!called) return message;
  const std::string_view text = message;
  const std::string_view name = text.substr(0, text.find_first_of("(:"));
  const std::string_view function = last_part(called);
  const bool is_ours = is_operator(operator_of(function));
  std::string result = message;
  if (is_internal(name) ||
      (is_ours && is_operator(name) && name != function && name != operator_of(function))) {
    const bool is_layer_function = std::string_view(called).starts_with("nn.functional.");
    result =
        std::string(is_layer_function ? function : called) + std::string(text.substr(name.size()));
  }
  return is_function && is_ours ? with_input(std::move(result)) : result;
}

/// Text that was passed may stand in a message, whatever it holds.
void set_error(PyObject* type, const std::string& message) {
  const auto size = static_cast<Py_ssize_t>(message.size());
  const PyRef text(PyUnicode_DecodeUTF8(message.data(), size, "replace"));
  if (text) PyErr_SetObject(type, text.get());
}

}  // namespace

PyObject* raise_current_exception(const char* called, bool is_function) noexcept {
  try {
    throw;
  } catch (abi::__forced_unwind&) {
    detail::wait_for_the_end();
  } catch (const PythonError& error) {
    error.restore();
  } catch (const Error& error) {
    set_error(exception_of(error.kind()), public_message(error.message(), called, is_function));
  } catch (const std::bad_alloc& error) {
    const bool is_ours = dynamic_cast<const OutOfMemory*>(&error) != nullptr;
    PyErr_Format(PyExc_MemoryError, "%s%s%s", called ? called : "", called ? "(): " : "",
                 is_ours ? error.what() : "out of memory: working space of the operator");
  } catch (const std::length_error& error) {
    // A container of more elements than an address space holds.
    PyErr_Format(PyExc_MemoryError, "%s%sout of memory: more elements than can be (%s)",
                 called ? called : "", called ? "(): " : "", error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "flambeau: a C++ exception of unknown type");
  }
  return nullptr;
}

void add_exceptions(PyObject* module) {
  out_of_memory_error =
      checked(PyErr_NewExceptionWithDoc("flambeau.OutOfMemoryError",
                                        "A device has no room for the memory that was asked for."
                                        "\n\nExample:\n"
                                        "    >>> try:\n"
                                        "    ...     flambeau.empty(1 << 50)\n"
                                        "    ... except flambeau.OutOfMemoryError:\n"
                                        "    ...     print(\"no room\")\n"
                                        "    no room",
                                        PyExc_RuntimeError, nullptr))
          .release();
  checked(PyModule_AddObjectRef(module, "OutOfMemoryError", out_of_memory_error));
  linalg_error = checked(PyErr_NewExceptionWithDoc(
                             "flambeau.linalg.LinAlgError",
                             "A matrix is singular, or an algorithm does not converge for it."
                             "\n\nExample:\n"
                             "    >>> flambeau.linalg.inv(flambeau.zeros(2, 2))\n"
                             "    Traceback (most recent call last):\n"
                             "        ...\n"
                             "    flambeau.linalg.LinAlgError: ...",
                             PyExc_RuntimeError, nullptr))
                     .release();
  checked(PyModule_AddObjectRef(module, "_LinAlgError", linalg_error));
}

}  // namespace flambeau::python
