#pragma once

#include <algorithm>
#include <optional>

#include "core/geometry/arguments.h"
#include "core/geometry/memory_format.h"

/// The functions of the declarations' shape language. `op` only names the operator in an error.
/// Positions and dims may be negative; they are wrapped and checked.
namespace flambeau::shape_rules {

/// The shape without the reduced dims (with ones there when keepdim). No dims, or an empty list:
/// all of them. Error(runtime) for a dim listed twice.
FLAMBEAU_API Shape reduced(IntList shape, std::optional<IntList> dims, bool keepdim,
                           const char* op = "reduced");
inline Shape reduced(IntList shape, int64_t dim, bool keepdim, const char* op = "reduced") {
  return reduced(shape, IntList(&dim, 1), keepdim, op);
}
inline Shape reduced(IntList shape, Dim dim, bool keepdim, const char* op = "reduced") {
  return reduced(shape, dim.list(), keepdim, op);
}
inline Shape reduced(IntList shape, const std::optional<Dim>& dim, bool keepdim,
                     const char* op = "reduced") {
  return reduced(shape, dim ? std::optional<IntList>(dim->list()) : std::nullopt, keepdim, op);
}
/// `dim`: none reduces everything.
inline Shape reduced(IntList shape, std::optional<int64_t> dim, bool keepdim,
                     const char* op = "reduced") {
  return dim ? reduced(shape, IntList(&*dim, 1), keepdim, op)
             : reduced(shape, std::optional<IntList>(), keepdim, op);
}
inline Shape reduced(IntList shape, std::nullopt_t, bool keepdim, const char* op = "reduced") {
  return reduced(shape, std::optional<IntList>(), keepdim, op);
}
/// The list with elements a and b exchanged (an empty list accepts -1 and 0).
FLAMBEAU_API Shape swapped(IntList list, int64_t a, int64_t b, const char* op = "swapped");
FLAMBEAU_API Shape broadcast(IntList a, IntList b, const char* op = "broadcast");
/// [list[d] for d in dims]; dims must be a permutation.
FLAMBEAU_API Shape permuted(IntList list, IntList dims, const char* op = "permuted");
/// position in [-len - 1, len].
FLAMBEAU_API Shape inserted(IntList list, int64_t position, int64_t value,
                            const char* op = "inserted");
FLAMBEAU_API Shape without(IntList list, int64_t position, const char* op = "without");
FLAMBEAU_API Shape replaced(IntList list, int64_t position, int64_t value,
                            const char* op = "replaced");

/// (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1, floored, per spatial dim. Parameter
/// lists of one element hold for every dim. Error(runtime) when the kernel does not fit, or
/// stride, dilation or padding is out of range.
FLAMBEAU_API Shape conv_out(IntList spatial, IntList kernel, IntList stride, IntList padding,
                            IntList dilation, const char* op = "conv_out");
/// (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1.
FLAMBEAU_API Shape conv_transpose_out(IntList spatial, IntList kernel, IntList stride,
                                      IntList padding, IntList output_padding, IntList dilation,
                                      const char* op = "conv_transpose_out");
/// As conv_out; with ceil_mode the division rounds up, but no window starts in the right padding.
/// An empty stride means stride = kernel.
FLAMBEAU_API Shape pool_out(IntList spatial, IntList kernel, IntList stride, IntList padding,
                            IntList dilation, bool ceil_mode, const char* op = "pool_out");

inline int64_t numel(IntList shape, const char* op = "numel") { return checked_numel(shape, op); }
inline int64_t wrap(int64_t dim, int64_t rank, const char* op = "wrap") {
  return wrap_dim(dim, rank, op);
}
inline int64_t len(IntList list) { return static_cast<int64_t>(list.size()); }
inline int64_t max(int64_t a, int64_t b) { return std::max(a, b); }
inline int64_t min(int64_t a, int64_t b) { return std::min(a, b); }

/// list[position], as Python indexes.
FLAMBEAU_API int64_t at(IntList list, int64_t position, const char* op = "at");
/// The same of a list of anything, which the formula `list` makes. Error(index) outside of it.
template <class List>
decltype(auto) item(const List& items, int64_t position, const char* list, const char* op) {
  const auto length = static_cast<int64_t>(items.size());
  check(position >= -length && position < length, ErrorKind::index, op, "(): ", list, " has ",
        length, " items, of which item ", position, " is read");
  return items[static_cast<size_t>(position < 0 ? position + length : position)];
}
/// list[start:stop], as Python slices (none: from the beginning, to the end).
FLAMBEAU_API Shape slice(IntList list, std::optional<int64_t> start, std::optional<int64_t> stop);
/// a + b on lists, and list * count.
FLAMBEAU_API Shape concatenated(IntList a, IntList b);
FLAMBEAU_API Shape repeated(IntList list, int64_t count);
/// Python's // and %: rounded towards minus infinity. Error(runtime) on a zero divisor, and
/// where the quotient does not fit 64 bits.
FLAMBEAU_API int64_t floor_div(int64_t a, int64_t b, const char* op = "floor_div");
FLAMBEAU_API int64_t floor_mod(int64_t a, int64_t b, const char* op = "floor_mod");

/// Every element wrapped into [0, rank), Error(runtime) when one is listed twice; all dims for none
/// or an empty list.
FLAMBEAU_API Shape wrap_dims(std::optional<IntList> dims, int64_t rank, const char* op);

}  // namespace flambeau::shape_rules
