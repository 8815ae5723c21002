#include "cpu/onednn/library.h"

#ifdef FLAMBEAU_HAS_ONEDNN
#include <omp.h>
#include <pthread.h>

namespace flambeau::cpu::onednn {

dnnl::engine& engine() {
  static dnnl::engine instance = [] {
    // A forked child has none of the parent's threads: with one thread oneDNN does not wait for
    // them.
    pthread_atfork(nullptr, nullptr, [] { omp_set_num_threads(1); });
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return instance;
}

dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

}  // namespace flambeau::cpu::onednn
#endif
