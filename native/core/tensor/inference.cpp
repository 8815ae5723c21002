#include "core/tensor/tensor.h"

namespace flambeau {

thread_local constinit bool inference_mode = false;

}  // namespace flambeau
