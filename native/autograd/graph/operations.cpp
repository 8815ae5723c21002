#include "autograd/graph/operations.h"

namespace flambeau::autograd {

namespace {
Operations installed;
}

void install_operations(const Operations& operations) { installed = operations; }

const Operations& operations() {
  check(installed.add != nullptr, ErrorKind::runtime,
        "backward: the operator library is not loaded, so gradients cannot be added");
  return installed;
}

}  // namespace flambeau::autograd
