#include "python/module/profiling.h"

#include "core/profiling/recorder.h"
#include "python/base/gil.h"
#include "python/base/modules.h"
#include "python/base/names.h"
#include "python/calls/define.h"
#include "python/calls/results.h"

namespace flambeau::python {

namespace {

using profiling::Begun;
using profiling::Event;
using profiling::Shapes;
using profiling::ThreadEvents;

/// "file(line): function" of every Python frame, the innermost last.
std::string stack_lines() {
  const AcquireGil gil;
  std::string lines;
  PyRef frame = PyRef::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* const current = reinterpret_cast<PyFrameObject*>(frame.get());
    const PyRef code(reinterpret_cast<PyObject*>(PyFrame_GetCode(current)));
    const auto* const compiled = reinterpret_cast<PyCodeObject*>(code.get());
    const PyRef line = checked(PyUnicode_FromFormat(
        "%U(%d): %U", compiled->co_filename, PyFrame_GetLineNumber(current), compiled->co_name));
    lines = std::string(to_string(line.get())) + (lines.empty() ? "" : "\n") + lines;
    frame = PyRef(reinterpret_cast<PyObject*>(PyFrame_GetBack(current)));
  }
  return lines;
}

void start(bool shapes, bool memory, bool stacks) {
  profiling::start((shapes ? profiling::kShapes : 0) | (memory ? profiling::kMemory : 0) |
                   (stacks ? profiling::kStacks : 0));
}

PyRef shapes_tuple(const Shapes& shapes) {
  PyRef result = new_tuple(static_cast<int64_t>(shapes.size()));
  for (size_t i = 0; i < shapes.size(); ++i) {
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i),
                     checked(to_tuple(IntList(shapes[i]))).release());
  }
  return result;
}

/// (kind, name, parent, start, end, bytes, address, shapes, stack)
PyRef event_tuple(const Event& event) {
  constexpr const char* kinds[] = {"call", "backward", "engine", "range", "memory"};
  const profiling::Details* const details = event.details.get();
  const PyRef shapes = shapes_tuple(details ? details->shapes : Shapes());
  const PyRef stack = checked(to_python(details ? details->stack : std::string()));
  return checked(
      Py_BuildValue("ssLLLLKOO", kinds[static_cast<int>(event.kind)], event.name,
                    static_cast<long long>(event.parent), static_cast<long long>(event.start),
                    static_cast<long long>(event.end), static_cast<long long>(event.bytes),
                    static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(event.address)),
                    shapes.get(), stack.get()));
}

/// [(thread, [event])]
PyRef stop() {
  const std::vector<ThreadEvents> threads = profiling::stop();
  PyRef result = checked(PyList_New(0));
  for (const ThreadEvents& thread : threads) {
    const PyRef events = new_list(static_cast<int64_t>(thread.events.size()));
    for (size_t i = 0; i < thread.events.size(); ++i) {
      PyList_SET_ITEM(events.get(), static_cast<Py_ssize_t>(i),
                      event_tuple(thread.events[i]).release());
    }
    const PyRef pair =
        checked(Py_BuildValue("LO", static_cast<long long>(thread.thread), events.get()));
    checked(PyList_Append(result.get(), pair.get()));
  }
  return result;
}

bool is_on() { return (profiling::recorded_now() & profiling::kCalls) != 0; }

/// A range that a user has begun.
struct Range {
  Begun begun;
  std::shared_ptr<profiling::Buffer> buffer;
};
constexpr char kRange[] = "flambeau range";

/// What ends the range: None where nothing is recorded.
PyRef begin(PyObject* name) {
  check(PyUnicode_Check(name), ErrorKind::type,
        "record_function: argument 'name' must be str, not ", describe_type(name));
  if (!is_on()) return PyRef::borrow(Py_None);
  const std::string text(to_string(name));
  const Begun begun = profiling::begin(profiling::lasting(text.c_str()), profiling::Kind::range);
  if (!begun.buffer) return PyRef::borrow(Py_None);
  const auto release = [](PyObject* capsule) {
    delete static_cast<Range*>(PyCapsule_GetPointer(capsule, kRange));
  };
  return checked(PyCapsule_New(new Range{begun, profiling::hold(begun)}, kRange, release));
}

void end(PyObject* range) {
  if (range == Py_None) return;
  const auto* const ended = static_cast<Range*>(PyCapsule_GetPointer(range, kRange));
  if (!ended) throw_python_error();
  profiling::end(ended->begun);
}

constexpr Parameter options[] = {
    {"shapes", Kind::boolean}, {"memory", Kind::boolean}, {"stacks", Kind::boolean}};
constexpr Parameter name[] = {{"name", Kind::object}};
constexpr Parameter range[] = {{"range", Kind::object}};

PyMethodDef functions[] = {
    define<"start", start, options>(
        "start(shapes, memory, stacks)\n--\n\n"
        "Starts to record calls, and what else is asked for; RuntimeError while something is."),
    define<"stop", stop>("stop()\n--\n\n"
                         "Ends it: (thread, events) of each thread. An event is (kind, name, "
                         "parent, start, end, bytes, address, shapes, stack), the parent the index "
                         "of the event around it or -1, times in nanoseconds."),
    define<"is_on", is_on>("is_on()\n--\n\nWhether calls are recorded now."),
    define<"begin", begin, name>("begin(name)\n--\n\nBegins a range; what end() takes."),
    define<"end", end, range>("end(range)\n--\n\nEnds a range, on any thread."),
    kNoMore};

}  // namespace

void add_profiling(PyObject* module) {
  add_functions(submodule(module, "_profiler").get(), functions);
  profiling::describe_stack = &stack_lines;
}

}  // namespace flambeau::python
