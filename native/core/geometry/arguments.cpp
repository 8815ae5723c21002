#include "core/geometry/arguments.h"

namespace flambeau {

void Dim::refuse(int64_t given, int64_t rank, ArgumentName name) {
  const int64_t limit = rank == 0 ? 1 : rank;
  fail(ErrorKind::index, name.op, "(): ", name.argument, " ", given,
       " is out of range for a tensor of ", rank, " dimensions; expected ", -limit, " to ",
       limit - 1);
}

Dims::Dims(IntList given, int64_t rank, ArgumentName name) {
  check(rank <= kMaxDims, ErrorKind::runtime, name.op, "(): at most ", kMaxDims,
        " dimensions are supported, got ", rank);
  uint64_t seen = 0;
  values_.reset(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const int64_t dim = Dim(given[i], rank, name);
    check(!(seen >> dim & 1), ErrorKind::runtime, name.op, "(): dim ", dim,
          " appears more than once in ", name.argument, " ", ShapeText{given});
    seen |= uint64_t{1} << dim;
    values_[i] = dim;
  }
}

void detail::refuse_length(IntList given, int expected, ArgumentName name) {
  fail(ErrorKind::runtime, name.op, "(): ", name.argument, " must be one integer or a list of ",
       expected, ", got ", ShapeText{given});
}

void check_size(int64_t given, ArgumentName name) {
  check(given >= 0, ErrorKind::runtime, name.op, "(): ", name.argument,
        " must not be negative, got ", given);
}

void check_sizes(IntList given, ArgumentName name) {
  check(given.size() <= kMaxDims, ErrorKind::runtime, name.op, "(): ", name.argument, " lists ",
        given.size(), " sizes; a tensor has at most ", kMaxDims, " dimensions");
  for (const int64_t size : given) {
    check(size >= 0, ErrorKind::runtime, name.op, "(): ", name.argument,
          " must not be negative, got ", ShapeText{given});
  }
  checked_numel(given, name.op);
}

int64_t index_from_front(int64_t given, int64_t size, ArgumentName name) {
  check(given >= -size && given < size, ErrorKind::index, name.op, "(): ", name.argument, " ",
        given, " is out of range for size ", size);
  return given < 0 ? given + size : given;
}

}  // namespace flambeau
