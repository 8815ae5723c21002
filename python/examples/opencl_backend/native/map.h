#pragma once

#include "core/iteration/iterator.h"
#include "program.h"

namespace flambeau::opencl {

/// Runs kernel `name` of `source` over an iterator's elements, one work-item each. The source reads
/// operand i with LOAD_i or LOAD_AT_i(bytes), writes it with STORE_i or STORE_AT_i(bytes, value),
/// and takes `const long count, OPERAND_0, ..., its own arguments LAYOUT`.
void map(const char* name, const char* source, const Iterator& iter, const Arguments& arguments);

}  // namespace flambeau::opencl
