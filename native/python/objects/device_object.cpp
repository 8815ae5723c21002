#include "python/objects/device_object.h"

#include <string>
#include <vector>

#include "python/base/type_object.h"
#include "python/calls/arguments.h"
#include "python/calls/results.h"

namespace flambeau::python {

namespace {

struct DeviceObject {
  PyObject_HEAD Device device;
};

PyTypeObject* device_type = nullptr;
PyObject* plain_cpu = nullptr;  // what almost every tensor's .device is

Device value_of(PyObject* self) { return reinterpret_cast<DeviceObject*>(self)->device; }
std::string type_name(Device device) { return to_string(Device{device.backend, -1}); }

PyObject* make(PyTypeObject* type, Device device) {
  PyObject* object = checked(type->tp_alloc(type, 0)).release();
  reinterpret_cast<DeviceObject*>(object)->device = device;
  return object;
}

Device parse(PyObject* value) {
  if (is_device(value)) return value_of(value);
  if (PyUnicode_Check(value)) return parse_device(to_string(value));
  if (is_device_like(value)) {
    const int64_t index = to_int(value);
    check(index >= 0 && index < 128, ErrorKind::runtime, "device(): index ", index,
          " is outside [0, 127]");
    return Device{Backend::cuda, static_cast<int8_t>(index)};
  }
  fail(ErrorKind::type, "expected a device, a str such as 'cpu' or 'cuda:0', or an int, got ",
       describe_type(value));
}

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *text = nullptr, *index = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O:device", const_cast<char**>(names), &text,
                                   &index)) {
    return nullptr;
  }
  return guarded([&] {
    Device device = parse(text);
    if (given(index)) {
      check(device.index < 0 || !PyUnicode_Check(text), ErrorKind::runtime, "device(): '", device,
            "' names an index already; drop the argument 'index'");
      const int64_t number = to_int(index);
      check(number >= 0 && number < 128, ErrorKind::runtime, "device(): index ", number,
            " is outside [0, 127]");
      device.index = static_cast<int8_t>(number);
    }
    return make(type, device);
  });
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    const Device device = value_of(self);
    const std::string type = type_name(device);
    return device.index < 0
               ? PyUnicode_FromFormat("device(type='%s')", type.c_str())
               : PyUnicode_FromFormat("device(type='%s', index=%d)", type.c_str(), device.index);
  });
}
PyObject* str(PyObject* self) {
  return guarded([&] { return PyUnicode_FromString(to_string(value_of(self)).c_str()); });
}
Py_hash_t hash(PyObject* self) {
  const Device device = value_of(self);
  return static_cast<int>(device.backend) * 257 + device.index + 2;
}
PyObject* compare(PyObject* a, PyObject* b, int operation) {
  if (!is_device(a) || !is_device(b) || (operation != Py_EQ && operation != Py_NE)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyBool_FromLong((value_of(a) == value_of(b)) == (operation == Py_EQ));
}
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Device device = value_of(self);
    const std::string type = type_name(device);
    return device.index < 0 ? Py_BuildValue("(O(s))", device_type, type.c_str())
                            : Py_BuildValue("(O(si))", device_type, type.c_str(), device.index);
  });
}
PyObject* get_type(PyObject* self, void*) {
  return guarded([&] { return PyUnicode_FromString(type_name(value_of(self)).c_str()); });
}
PyObject* get_index(PyObject* self, void*) {
  const int index = value_of(self).index;
  if (index < 0) Py_RETURN_NONE;
  return PyLong_FromLong(index);
}

/// Defaults of the blocks that this thread is in, from outside in.
thread_local std::vector<Device> outer_defaults;

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    outer_defaults.push_back(default_device());
    set_default_device(value_of(self));
    return Py_NewRef(self);
  });
}
PyObject* leave(PyObject*, PyObject*) {
  return guarded([&] {
    check(!outer_defaults.empty(), ErrorKind::runtime, "device: left a block that was not entered");
    set_default_device(outer_defaults.back());
    outer_defaults.pop_back();
    return Py_NewRef(Py_None);
  });
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"__enter__", enter, METH_NOARGS, nullptr},
                         {"__exit__", leave, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {
    {"type", get_type, nullptr, "The backend's name: 'cpu', 'cuda', 'meta'.", nullptr},
    {"index", get_index, nullptr, "Which device of the backend; None: the current one.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(construct)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_str, reinterpret_cast<void*>(str)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("device(type, index=None)\n--\n\n"
                                  "Where a tensor lives: device('cpu'), device('cuda:0').\n\n"
                                  "In a with statement: where this thread's tensors are made "
                                  "inside the block when no device is named."
                                  "\n\nExample:\n"
                                  "    >>> flambeau.device(\"cpu\").type\n"
                                  "    'cpu'\n"
                                  "    >>> with flambeau.device(\"meta\"):\n"
                                  "    ...     print(flambeau.ones(2).device)\n"
                                  "    meta")},
    {0, nullptr}};
PyType_Spec spec = {"flambeau.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool is_device(PyObject* value) { return Py_TYPE(value) == device_type; }
bool is_device_like(PyObject* value) {
  return is_device(value) || PyUnicode_Check(value) ||
         (PyLong_Check(value) && !PyBool_Check(value));
}
Device to_device(PyObject* slot) { return parse(slot); }

PyObject* to_python(Device device) {
  return device == Device{} ? Py_NewRef(plain_cpu) : make(device_type, device);
}

void add_device_type(PyObject* module) {
  device_type = add_type(module, spec);
  plain_cpu = make(device_type, Device{});
}

}  // namespace flambeau::python
