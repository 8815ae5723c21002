#pragma once

#include "core/iteration/iterator.h"

namespace flambeau::cuda {

/// Output 0 takes the elements of input 0, of one size, as they are.
void copy_words(const Iterator& iter);
/// The same where another dim than the innermost is the dense one of the input: through squares in
/// shared memory, so that both sides are read and written in whole lines. False: not such a case.
bool copy_transposed(const Iterator& iter);
/// Output 0 takes the elements of input 0 in its own dtype, which differs.
void convert_from_integral(const Iterator& iter);
void convert_from_floating(const Iterator& iter);

}  // namespace flambeau::cuda
