#pragma once

#include "cuda/copy.h"
#include "cuda/loops.cuh"

namespace flambeau::cuda {

template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<RealOf<T>, T>;

/// A complex value loses its imaginary part; anything but zero is true; floats are truncated
/// towards zero.
template <class To, class From>
__device__ __forceinline__ To convert_element(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (kIsComplex<From> && kIsComplex<To>) {
    return To(x);
  } else if constexpr (kIsComplex<From>) {
    return convert_element<To>(x.re);
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<RealOf<To>>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                       sizeof(To) < sizeof(int32_t)) {
    // Through int32: what does not fit then wraps around, as on the CPU.
    return static_cast<To>(static_cast<int32_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
void convert(const Iterator& iter) {
  if constexpr (!std::is_same_v<To, From>) {
    map<Types<Outs<To>, Ins<From>>, Returns, 1>(
        iter, [=] __device__(Compute<From> x) { return convert_element<Compute<To>>(x); });
  }
}

template <class From>
void convert_from(const Iterator& iter) {
  switch (iter.dtype(0)) {
#define FLAMBEAU_TO(name, type, ...) \
  case DType::name:                  \
    return convert<type, From>(iter);
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_TO)
#undef FLAMBEAU_TO
  }
}

}  // namespace flambeau::cuda
