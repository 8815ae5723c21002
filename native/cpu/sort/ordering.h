#pragma once

#include "core/threads/parallel.h"
#include "cpu/sort/keys.h"

/// Sorting of keys and of items, on several threads where there are many. `spare` is as long.
/// `finish` is called with ranges that are in order, which cover all, while they are in caches.
namespace flambeau::cpu {

using Finish = FunctionRef<void(int64_t begin, int64_t end)>;
inline void finish_nothing(int64_t, int64_t) {}

void sort_keys(uint32_t* keys, uint32_t* spare, int64_t count, Finish finish = finish_nothing);
void sort_keys(uint64_t* keys, uint64_t* spare, int64_t count, Finish finish = finish_nothing);
/// Items that are listed in order of position.
void sort_items(uint64_t* items, uint64_t* spare, int64_t count, Finish finish = finish_nothing);
void sort_items(WideItem* items, WideItem* spare, int64_t count, Finish finish = finish_nothing);

}  // namespace flambeau::cpu
