#include "core/files/mapped_file.h"

#include <fcntl.h>

#include <cerrno>

#include "core/files/crc32.h"
#include "core/files/transfer.h"
#include "python/base/gil.h"
#include "python/calls/define.h"
#include "python/interop/interop.h"
#include "python/objects/storage_object.h"

/// Memory from and to files, for flambeau.serialization.
namespace flambeau::python {

namespace {

/// The bytes of an object while it lives.
class Bytes {
 public:
  explicit Bytes(PyObject* object, int flags = PyBUF_SIMPLE) {
    checked(PyObject_GetBuffer(object, &view_, flags));
  }
  Bytes(const Bytes&) = delete;
  ~Bytes() { PyBuffer_Release(&view_); }
  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

[[noreturn]] void throw_os_error(int number) {
  errno = number;
  PyErr_SetFromErrno(PyExc_OSError);
  throw_python_error();
}

/// Without the GIL where more than a little memory passes.
template <class Body>
auto passing(size_t bytes, Body body) {
  return released(static_cast<int64_t>(bytes), body);
}

size_t checked_size(int64_t value, const char* what) {
  check(value >= 0, ErrorKind::value, what, " must not be negative, got ", value);
  return static_cast<size_t>(value);
}
/// A number that is no descriptor stands for none.
int descriptor(int64_t file) {
  return file == static_cast<int>(file) ? static_cast<int>(file) : -1;
}

int64_t crc_of(PyObject* data, int64_t before) {
  const Bytes bytes(data);
  check(before >= 0 && before <= UINT32_MAX, ErrorKind::value, "_crc32(): ", before,
        " is no CRC-32");
  return passing(bytes.size(),
                 [&] { return crc32(static_cast<uint32_t>(before), bytes.data(), bytes.size()); });
}

PyRef read_storage(int64_t file, int64_t offset, int64_t bytes) {
  const size_t size = checked_size(bytes, "_read_storage(): bytes");
  const Ref<Storage> storage = Storage::allocate(size, Device{});
  const Transfer done =
      passing(size, [&] { return read_file(descriptor(file), offset, storage->data(), size); });
  if (done.error) throw_os_error(done.error);
  check(!done.ended, ErrorKind::runtime, "the file ends within the ", size, " bytes from byte ",
        offset, " on");
  return PyRef(Py_BuildValue("(NI)", checked(wrap_storage(storage)).release(), done.crc));
}

int64_t write_bytes(int64_t file, int64_t offset, PyObject* data) {
  const Bytes bytes(data);
  const Transfer done = passing(bytes.size(), [&] {
    return write_file(descriptor(file), offset, bytes.data(), bytes.size());
  });
  if (done.error) throw_os_error(done.error);
  return done.crc;
}

void reserve(int64_t file, int64_t bytes) {
  const int failed = passing(SIZE_MAX >> 1, [&] {
    return bytes > 0 && fallocate(descriptor(file), FALLOC_FL_KEEP_SIZE, 0, bytes) != 0 ? errno : 0;
  });
  if (failed && failed != EOPNOTSUPP && failed != ENOSYS) throw_os_error(failed);
}

PyRef map(int64_t file, int64_t bytes, bool shared) {
  const Ref<Storage> storage =
      map_file(descriptor(file), checked_size(bytes, "_map_file(): bytes"), shared);
  if (!storage) throw_os_error(errno);
  return PyRef(wrap_storage(storage));
}

PyRef part(PyObject* whole, int64_t offset, int64_t bytes) {
  return PyRef(wrap_storage(storage_part(unwrap_storage(whole),
                                         checked_size(offset, "_storage_part(): offset"),
                                         checked_size(bytes, "_storage_part(): bytes"))));
}

constexpr Parameter crc_parameters[] = {{"data", Kind::object}, {"crc", Kind::integer, {"0", 0}}};
constexpr Parameter read_parameters[] = {
    {"fd", Kind::integer}, {"offset", Kind::integer}, {"nbytes", Kind::integer}};
constexpr Parameter write_parameters[] = {
    {"fd", Kind::integer}, {"offset", Kind::integer}, {"data", Kind::object}};
constexpr Parameter size_parameters[] = {{"fd", Kind::integer}, {"nbytes", Kind::integer}};
constexpr Parameter map_parameters[] = {
    {"fd", Kind::integer}, {"nbytes", Kind::integer}, {"shared", Kind::boolean, {"False", false}}};
constexpr Parameter part_parameters[] = {
    {"storage", Kind::object}, {"offset", Kind::integer}, {"nbytes", Kind::integer}};

}  // namespace

PyMethodDef file_functions[] = {
    define<"_crc32", crc_of, crc_parameters>(
        "_crc32(data, crc=0)\n--\n\nThe CRC-32 of bytes, after others whose CRC is given."),
    define<"_read_storage", read_storage, read_parameters>(
        "_read_storage(fd, offset, nbytes)\n--\n\n"
        "A new storage with bytes of a file, and their CRC-32."),
    define<"_write_file", write_bytes, write_parameters>(
        "_write_file(fd, offset, data)\n--\n\nWrites bytes to a file; returns their CRC-32."),
    define<"_reserve_file", reserve, size_parameters>(
        "_reserve_file(fd, nbytes)\n--\n\n"
        "Takes space on the disk, where the file system can; OSError where it has not enough."),
    define<"_map_file", map, map_parameters>(
        "_map_file(fd, nbytes, shared=False)\n--\n\n"
        "A storage of a file's bytes, read when touched; writes reach the file where it is "
        "shared."),
    define<"_storage_part", part, part_parameters>("_storage_part(storage, offset, nbytes)\n--\n\n"
                                                   "A storage on a part of another one's memory."),
    kNoMore};

}  // namespace flambeau::python
