#pragma once

#include "core/backends/instruction_set.h"
#include "core/threads/parallel.h"

namespace flambeau::cpu {

/// to[i * to_step + e] += from[i * from_step + e] for `count` lines of `length` elements, which may
/// overlap, or be one, where they are added to. T is float or double.
FLAMBEAU_IN_EACH_SET(template <class T> void add_lines(int64_t count, int64_t length, const T* from,
                                                       int64_t from_step, T* to, int64_t to_step);
                     /** to[2 * i] += from[i] */
                     template <class T>
                     void add_to_every_second(int64_t length, const T* from, T* to);)

/// Adds the sums of further parts of some work, `size` of each, to those of the first.
template <class T>
void add_parts(int64_t parts, int64_t size, T* sums) {
  parallel_for(0, parts > 1 ? size : 0, kGrain, [&](int64_t begin, int64_t end) {
    FLAMBEAU_PICK(add_lines<T>)
    (parts - 1, end - begin, sums + size + begin, size, sums + begin, 0);
  });
}

}  // namespace flambeau::cpu
