#pragma once

namespace flambeau::python {

/// From now on kernels find functions of other libraries: flambeau._foreign loads these.
void find_foreign_functions();

}  // namespace flambeau::python
