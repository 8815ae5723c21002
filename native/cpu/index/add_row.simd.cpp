#include "cpu/index/add_row.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

template <class T>
void add_row(T* to, const T* from, T factor, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}
template void add_row(float* to, const float* from, float factor, int64_t count);
template void add_row(double* to, const double* from, double factor, int64_t count);

}  // namespace flambeau::cpu::FLAMBEAU_ISA
