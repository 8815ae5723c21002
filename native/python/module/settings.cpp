#include "python/module/settings.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <string>
#include <utility>

#include "core/backends/dispatch.h"
#include "core/backends/instruction_set.h"
#include "core/backends/queue.h"
#include "core/base/warning.h"
#include "core/memory/memory_limits.h"
#include "core/tensor/promotion.h"
#include "core/threads/parallel.h"
#include "operators/autocast.h"
#include "python/base/gil.h"
#include "python/base/modules.h"
#include "python/base/sequences.h"
#include "python/calls/define.h"

/// Functions of flambeau._C that ask and change how the library works: memory, threads, dtypes.
namespace flambeau::python {

namespace {

// Memory ----------------------------------------------------------------------------------------

Allocator& allocator_of(std::optional<Device> device) {
  return allocator(device ? device->backend : Backend::cpu);
}

PyRef memory_stats(std::optional<Device> device) {
  const AllocatorStatistics now = allocator_of(device).statistics();
  const std::pair<const char*, int64_t> statistics[] = {
      {"allocated_bytes", now.allocated_bytes}, {"peak_allocated_bytes", now.peak_allocated_bytes},
      {"reserved_bytes", now.reserved_bytes},   {"peak_reserved_bytes", now.peak_reserved_bytes},
      {"allocations", now.allocations},         {"system_allocations", now.system_allocations}};
  PyRef result = checked(PyDict_New());
  for (const auto& [name, number] : statistics) {
    const PyRef value = checked(PyLong_FromLongLong(number));
    checked(PyDict_SetItemString(result.get(), name, value.get()));
  }
  return result;
}
void empty_cache(std::optional<Device> device) { allocator_of(device).release_cached(); }
void reset_peak_memory_stats(std::optional<Device> device) { allocator_of(device).reset_peak(); }
void limit_cpu_cache(int64_t bytes) {
  check(bytes >= 0, ErrorKind::value,
        "set_cpu_cache_limit(): argument 'bytes' is negative: ", bytes);
  set_cpu_cache_limit(static_cast<size_t>(bytes));
}

int64_t usable_memory() {
  static const size_t machine = machine_memory();
  return static_cast<int64_t>(std::min({machine, address_space(), size_t{INT64_MAX}}));
}

bool has_queue_on(Device device) { return has_queue(device.backend); }
bool is_queue_done_on(Device device) { return is_queue_done(device); }
void wait_for_queue_on(Device device) {
  const ReleaseGil released(INT64_MAX);
  wait_for_queue(device);
}

constexpr Parameter some_device[] = {{"device", Kind::device}};
constexpr Parameter optional_device[] = {{"device", Kind::device, "None", kNone}};
constexpr Parameter bytes[] = {{"bytes", Kind::integer}};

// Threads and processors ------------------------------------------------------------------------

int64_t get_num_threads() { return num_threads(); }
void change_num_threads(int64_t count) {
  check(count > 0 && count <= INT_MAX, ErrorKind::runtime,
        "set_num_threads(): needs a positive count, got ", count);
  set_num_threads(static_cast<int>(count));
}
const char* cpu_capability() { return kInstructionSets[static_cast<int>(instruction_set())]; }
PyRef instruction_sets_that(bool (*condition)(InstructionSet)) {
  PyRef names = checked(PyList_New(0));
  for (size_t i = 0; i < std::size(kInstructionSets); ++i) {
    if (!condition(static_cast<InstructionSet>(i))) continue;
    const PyRef name = checked(PyUnicode_FromString(kInstructionSets[i]));
    checked(PyList_Append(names.get(), name.get()));
  }
  return names;
}
PyRef cpu_capabilities() { return instruction_sets_that(is_usable); }
PyRef compiled_instruction_sets() { return instruction_sets_that(is_compiled); }

constexpr Parameter count[] = {{"count", Kind::integer}};

// Warnings --------------------------------------------------------------------------------------

constexpr Parameter always[] = {{"b", Kind::boolean}};

// Kernels ---------------------------------------------------------------------------------------

PyRef kernel_origins(Device device) {
  constexpr const char* names[] = {"missing", "own", "composed", "host"};
  PyRef result = checked(PyDict_New());
  for (const KernelState& state : kernel_states(device.backend)) {
    const PyRef origin = checked(PyUnicode_FromString(names[static_cast<int>(state.origin)]));
    checked(PyDict_SetItemString(result.get(), std::string(state.op).c_str(), origin.get()));
  }
  return result;
}
bool prefer_cpu_composition(std::string_view op, bool prefer) {
  return prefer_composition(op, Backend::cpu, prefer);
}

constexpr Parameter device[] = {{"device", Kind::device}};
constexpr Parameter composition[] = {{"op", Kind::string}, {"prefer", Kind::boolean}};

// Dtypes ----------------------------------------------------------------------------------------

void change_default_dtype(PyObject* dtype) {
  check(is_dtype(dtype), ErrorKind::type, "set_default_dtype(): expected a flambeau.dtype, got ",
        describe_type(dtype));
  set_default_dtype(to_dtype(dtype));
}
DType promote_types(DType a, DType b) { return promote(a, b); }
bool can_convert(DType from, DType to) { return can_cast(from, to); }
DType result_type(const Operand& a, const Operand& b) {
  Promotion promotion;
  for (const Operand* operand : {&a, &b}) {
    operand->is_tensor() ? promotion.add(operand->tensor()) : promotion.add(operand->scalar());
  }
  return *promotion.result();
}

constexpr Parameter dtype[] = {{"dtype", Kind::object}};
constexpr Parameter two_types[] = {{"type1", Kind::dtype}, {"type2", Kind::dtype}};
constexpr Parameter from_to[] = {{"from_", Kind::dtype}, {"to", Kind::dtype}};
constexpr Parameter two_tensors[] = {{"tensor1", Kind::operand}, {"tensor2", Kind::operand}};

// Mixed precision -------------------------------------------------------------------------------

bool is_autocast_enabled(Device device) { return autocast::is_enabled(device.backend); }
void set_autocast_enabled(Device device, bool enabled) {
  autocast::set_enabled(device.backend, enabled);
}
DType autocast_dtype(Device device) { return autocast::dtype(device.backend); }
void set_autocast_dtype(Device device, DType dtype) {
  check(is_floating(dtype), ErrorKind::runtime,
        "set_autocast_dtype(): expected a floating-point dtype, got ", dtype);
  autocast::set_dtype(device.backend, dtype);
}

constexpr Parameter device_type[] = {{"device_type", Kind::device}};
constexpr Parameter type_and_enabled[] = {{"device_type", Kind::device},
                                          {"enabled", Kind::boolean}};
constexpr Parameter type_and_dtype[] = {{"device_type", Kind::device}, {"dtype", Kind::dtype}};
constexpr Parameter enabled[] = {{"enabled", Kind::boolean}};

// Devices ---------------------------------------------------------------------------------------

void change_default_device(std::optional<Device> device) {
  set_default_device(device.value_or(Device{}));
}

// Results ---------------------------------------------------------------------------------------

PyRef elements_of(std::string_view op, PyObject* values) {
  return tuple_of(values, std::string(op).c_str());
}

/// flambeau.return_types.NAME
PyRef return_type(std::string_view name) {
  NamedResult* result = NamedResult::find(std::string(name).c_str());
  if (!result) {
    PyErr_Format(PyExc_AttributeError, "flambeau.return_types has no '%s'",
                 std::string(name).c_str());
    throw_python_error();
  }
  return PyRef::borrow(reinterpret_cast<PyObject*>(result->type()));
}

constexpr Parameter op_and_values[] = {{"op", Kind::string}, {"values", Kind::object}};
constexpr Parameter name[] = {{"name", Kind::string}};

PyMethodDef functions[] = {
    define<"memory_stats", memory_stats, optional_device>(
        "memory_stats(device=None)\n--\n\n"
        "What a device's allocator has handed out and holds, in bytes and counts."
        "\n\nExample:\n"
        "    >>> x = flambeau.ones(1000)\n"
        "    >>> flambeau.memory_stats()[\"allocated_bytes\"] >= x.nbytes\n"
        "    True"),
    define<"empty_cache", empty_cache, optional_device>(
        "empty_cache(device=None)\n--\n\nGives cached memory back to the system."
        "\n\nExample:\n"
        "    >>> flambeau.empty_cache()"),
    define<"reset_peak_memory_stats", reset_peak_memory_stats, optional_device>(
        "reset_peak_memory_stats(device=None)\n--\n\nStarts the peaks of memory_stats() over."
        "\n\nExample:\n"
        "    >>> flambeau.reset_peak_memory_stats()\n"
        "    >>> before = flambeau.memory_stats()[\"allocated_bytes\"]\n"
        "    >>> x = flambeau.ones(1000)\n"
        "    >>> del x\n"
        "    >>> flambeau.memory_stats()[\"peak_allocated_bytes\"] - before >= 4000\n"
        "    True"),
    define<"_usable_memory", usable_memory>(
        "_usable_memory()\n--\n\n"
        "Bytes that the process may take: the machine's memory, or less where limits say so."),
    define<"_has_queue", has_queue_on, some_device>(
        "_has_queue(device)\n--\n\nWhether kernels of a device return before they have run."),
    define<"_is_queue_done", is_queue_done_on, some_device>(
        "_is_queue_done(device)\n--\n\nWhether all that was called on a device has run."),
    define<"_wait_for_queue", wait_for_queue_on, some_device>(
        "_wait_for_queue(device)\n--\n\nWaits until all that was called on a device has run."),
    define<"set_cpu_cache_limit", limit_cpu_cache, bytes>(
        "set_cpu_cache_limit(bytes)\n--\n\n"
        "How many freed bytes the CPU allocator may keep for reuse."
        "\n\nExample:\n"
        "    >>> flambeau.set_cpu_cache_limit(1 << 30)  # a gigabyte"),
    define<"get_default_device", default_device>(
        "get_default_device()\n--\n\n"
        "Where this thread's tensors are made when no device is named."
        "\n\nExample:\n"
        "    >>> flambeau.get_default_device()\n"
        "    device(type='cpu')"),
    define<"set_default_device", change_default_device, optional_device>(
        "set_default_device(device)\n--\n\n"
        "Sets where this thread's tensors are made when no device is named; None: the CPU."
        "\n\nExample:\n"
        "    >>> flambeau.set_default_device(\"meta\")\n"
        "    >>> flambeau.ones(2).device\n"
        "    device(type='meta')\n"
        "    >>> flambeau.set_default_device(None)"),
    define<"get_num_threads", get_num_threads>(
        "get_num_threads()\n--\n\nHow many threads one operation may use."
        "\n\nExample:\n"
        "    >>> flambeau.get_num_threads() >= 1\n"
        "    True"),
    define<"set_num_threads", change_num_threads, count>(
        "set_num_threads(count)\n--\n\nSets how many threads one operation may use."
        "\n\nExample:\n"
        "    >>> before = flambeau.get_num_threads()\n"
        "    >>> flambeau.set_num_threads(1)\n"
        "    >>> flambeau.get_num_threads()\n"
        "    1\n"
        "    >>> flambeau.set_num_threads(before)"),
    define<"set_warn_always", set_warn_always, always>(
        "set_warn_always(b)\n--\n\n"
        "Sets whether warnings that a program gets once are given each time. Python's warnings\n"
        "filters say which of those that are given are shown."
        "\n\nExample:\n"
        "    >>> flambeau.set_warn_always(True)\n"
        "    >>> flambeau.is_warn_always_enabled()\n"
        "    True\n"
        "    >>> flambeau.set_warn_always(False)"),
    define<"is_warn_always_enabled", warns_always>(
        "is_warn_always_enabled()\n--\n\n"
        "Whether warnings that a program gets once are given each time; see set_warn_always()."
        "\n\nExample:\n"
        "    >>> flambeau.is_warn_always_enabled()\n"
        "    False"),
    define<"_cpu_capability", cpu_capability>(
        "_cpu_capability()\n--\n\nThe instruction set that CPU loops use."),
    define<"_cpu_capabilities", cpu_capabilities>(
        "_cpu_capabilities()\n--\n\n"
        "The instruction sets that FLAMBEAU_CPU may name here: compiled, and of this processor."),
    define<"_compiled_instruction_sets", compiled_instruction_sets>(
        "_compiled_instruction_sets()\n--\n\nThose that this library has loops for."),
    define<"_kernel_origins", kernel_origins, device>(
        "_kernel_origins(device)\n--\n\n"
        "What runs each operator on a device: its own kernel, a composition, the host, nothing."),
    define<"_prefer_composition", prefer_cpu_composition, composition>(
        "_prefer_composition(op, prefer)\n--\n\n"
        "Whether an operator runs its composition on the CPU from now on, instead of its kernel."),
    define<"get_default_dtype", default_dtype>(
        "get_default_dtype()\n--\n\nThe dtype of floats for which none is given."
        "\n\nExample:\n"
        "    >>> flambeau.get_default_dtype()\n"
        "    flambeau.float32"),
    define<"set_default_dtype", change_default_dtype, dtype>(
        "set_default_dtype(dtype)\n--\n\n"
        "Sets the dtype of floats for which none is given; a floating type."
        "\n\nExample:\n"
        "    >>> flambeau.set_default_dtype(flambeau.float64)\n"
        "    >>> flambeau.tensor(0.5).dtype\n"
        "    flambeau.float64\n"
        "    >>> flambeau.set_default_dtype(flambeau.float32)"),
    define<"promote_types", promote_types, two_types>(
        "promote_types(type1, type2)\n--\n\nThe smallest dtype that holds both."
        "\n\nExample:\n"
        "    >>> flambeau.promote_types(flambeau.int64, flambeau.float16)\n"
        "    flambeau.float16"),
    define<"can_cast", can_convert, from_to>(
        "can_cast(from_, to)\n--\n\nWhether promotion allows the conversion."
        "\n\nExample:\n"
        "    >>> flambeau.can_cast(flambeau.int64, flambeau.float32)\n"
        "    True\n"
        "    >>> flambeau.can_cast(flambeau.float32, flambeau.int64)\n"
        "    False"),
    define<"result_type", result_type, two_tensors>(
        "result_type(tensor1, tensor2)\n--\n\nThe dtype of arithmetic on the two."
        "\n\nExample:\n"
        "    >>> flambeau.result_type(flambeau.ones(2, dtype=flambeau.int64), 0.5)\n"
        "    flambeau.float32"),
    define<"_is_autocast_enabled", is_autocast_enabled, device_type>(
        "_is_autocast_enabled(device_type)\n--\n\nWhether autocast is on for a kind of device."),
    define<"set_autocast_enabled", set_autocast_enabled, type_and_enabled>(
        "set_autocast_enabled(device_type, enabled)\n--\n\n"
        "Turns autocast of this thread on or off for a kind of device."
        "\n\nExample:\n"
        "    >>> flambeau.set_autocast_enabled(\"cpu\", True)\n"
        "    >>> (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype\n"
        "    flambeau.bfloat16\n"
        "    >>> flambeau.set_autocast_enabled(\"cpu\", False)"),
    define<"get_autocast_dtype", autocast_dtype, device_type>(
        "get_autocast_dtype(device_type)\n--\n\n"
        "The lower dtype that operators compute in while autocast is on."
        "\n\nExample:\n"
        "    >>> flambeau.get_autocast_dtype(\"cpu\"), flambeau.get_autocast_dtype(\"cuda\")\n"
        "    (flambeau.bfloat16, flambeau.float16)"),
    define<"set_autocast_dtype", set_autocast_dtype, type_and_dtype>(
        "set_autocast_dtype(device_type, dtype)\n--\n\n"
        "Sets the lower dtype that operators compute in while autocast is on."
        "\n\nExample:\n"
        "    >>> flambeau.set_autocast_dtype(\"cpu\", flambeau.float16)\n"
        "    >>> with flambeau.autocast(\"cpu\", dtype=flambeau.get_autocast_dtype(\"cpu\")):\n"
        "    ...     (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype\n"
        "    flambeau.float16\n"
        "    >>> flambeau.set_autocast_dtype(\"cpu\", flambeau.bfloat16)"),
    define<"is_autocast_cache_enabled", autocast::is_cache_enabled>(
        "is_autocast_cache_enabled()\n--\n\n"
        "Whether weights that autocast converts stay converted until it ends."
        "\n\nExample:\n"
        "    >>> flambeau.is_autocast_cache_enabled()\n"
        "    True"),
    define<"set_autocast_cache_enabled", autocast::set_cache_enabled, enabled>(
        "set_autocast_cache_enabled(enabled)\n--\n\n"
        "Sets whether weights that autocast converts stay converted until it ends."
        "\n\nExample:\n"
        "    >>> flambeau.set_autocast_cache_enabled(False)  # each use converts them again\n"
        "    >>> flambeau.set_autocast_cache_enabled(True)"),
    define<"clear_autocast_cache", autocast::clear_cache>(
        "clear_autocast_cache()\n--\n\nForgets converted weights."
        "\n\nExample:\n"
        "    >>> layer = flambeau.nn.Linear(2, 2)\n"
        "    >>> with flambeau.autocast(\"cpu\"):\n"
        "    ...     before = layer(flambeau.ones(2))\n"
        "    ...     with flambeau.no_grad():\n"
        "    ...         _ = layer.weight.zero_()\n"
        "    ...     flambeau.clear_autocast_cache()\n"
        "    ...     after = layer(flambeau.ones(2))\n"
        "    >>> flambeau.equal(after.float(), layer.bias.bfloat16().float())\n"
        "    True"),
    define<"autocast_increment_nesting", autocast::enter_scope>(
        "autocast_increment_nesting()\n--\n\n"
        "Enters a scope of autocast; how many this thread is in."
        "\n\nExample:\n"
        "    >>> flambeau.autocast_increment_nesting(), flambeau.autocast_increment_nesting()\n"
        "    (1, 2)\n"
        "    >>> flambeau.autocast_decrement_nesting(), flambeau.autocast_decrement_nesting()\n"
        "    (1, 0)"),
    define<"autocast_decrement_nesting", autocast::leave_scope>(
        "autocast_decrement_nesting()\n--\n\n"
        "Leaves a scope of autocast; how many this thread is in."
        "\n\nExample:\n"
        "    >>> _ = flambeau.autocast_increment_nesting()\n"
        "    >>> flambeau.autocast_decrement_nesting()\n"
        "    0"),
    define<"_elements", elements_of, op_and_values>(
        "_elements(op, values)\n--\n\n"
        "A tuple of what a sequence or an iterator holds; ValueError that names `op` when memory "
        "cannot hold it."),
    define<"_return_type", return_type, name>(
        "_return_type(name)\n--\n\nThe named tuple flambeau.return_types.NAME."),
    kNoMore};

}  // namespace

void add_settings(PyObject* module) { add_functions(module, functions); }

}  // namespace flambeau::python
