#include <algorithm>

#include "core/geometry/broadcast.h"

namespace flambeau {

bool broadcastable(IntList a, IntList b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 1; i <= common; ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

Shape broadcast_shapes(IntList a, IntList b, const char* op) {
  check(broadcastable(a, b), ErrorKind::runtime, op, ": shapes ", ShapeText{a}, " and ",
        ShapeText{b},
        " cannot be broadcast together; aligned at the right, sizes must be equal or "
        "1");
  if (a.size() < b.size()) std::swap(a, b);
  Shape result(a);
  const size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i)
    if (b[i] != 1) result[shift + i] = b[i];
  return result;
}

}  // namespace flambeau
