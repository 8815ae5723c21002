#pragma once

#include "cpu/lapack/routine.h"

/// The functions that kernels call, by their LAPACK names; T is the type of elements. What they
/// take is described at netlib.org/lapack.
namespace flambeau::cpu::lapack {

namespace detail {
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<complex<T>> {
  using type = T;
};
}  // namespace detail

template <class T>
using Real = typename detail::RealOf<T>::type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

/// Real and complex matrices have functions of different names for what is transposed or symmetric.
template <class T>
constexpr const char* either(const char* real, const char* complex) {
  return kIsComplex<T> ? complex : real;
}

// Cholesky.
template <class T>
inline Routine<T, char, int, T, int, int> potrf{"potrf"};

// Symmetric indefinite matrices; those of complex numbers may be Hermitian.
template <class T>
inline Routine<T, char, int, T, int, int, T, int, int> sytrf{"sytrf"};
template <class T>
inline Routine<T, char, int, T, int, int, T, int, int> hetrf{either<T>("sytrf", "hetrf")};
template <class T>
inline Routine<T, char, int, int, T, int, int, T, int, T, int> sytrs2{"sytrs2"};
template <class T>
inline Routine<T, char, int, int, T, int, int, T, int, T, int> hetrs2{
    either<T>("sytrs2", "hetrs2")};

// Eigenvalues and singular values. The real ones take no real workspace.
template <class T>
inline Routine<T, char, int, T, int, Real<T>, Real<T>, T, T, int, int> sytrd{
    either<T>("sytrd", "hetrd")};
template <class T>
inline Routine<T, char, int, T, T, T, int, T, int> steqr{"steqr"};
template <class T>
inline Routine<T, int, T, T, int> sterf{"sterf"};
template <class T>
inline Routine<T, char, char, int, T, int, T, T, int, int, int, int> syevd{"syevd"};
template <class T>
inline Routine<T, char, char, int, T, int, Real<T>, T, int, Real<T>, int, int, int, int> heevd{
    "heevd"};
template <class T>
inline Routine<T, char, char, int, T, int, T, T, T, int, T, int, T, int, int> real_geev{"geev"};
template <class T>
inline Routine<T, char, char, int, T, int, T, T, int, T, int, T, int, Real<T>, int> complex_geev{
    "geev"};
template <class T>
inline Routine<T, int, int, T, int, Real<T>, Real<T>, T, T, T, int, int> gebrd{"gebrd"};
template <class T>
inline Routine<T, char, char, int, T, T, T, int, T, int, T, int, T, int, int> bdsdc{"bdsdc"};
template <class T>
inline Routine<T, char, int, int, T, int, T, T, int, T, int, T, int, int, int> real_gesdd{"gesdd"};
template <class T>
inline Routine<T, char, int, int, T, int, Real<T>, T, int, T, int, T, int, Real<T>, int, int>
    complex_gesdd{"gesdd"};

// Least squares.
template <class T>
inline Routine<T, char, int, int, int, T, int, T, int, T, int, int> gels{"gels"};
template <class T>
inline Routine<T, int, int, int, T, int, T, int, int, T, int, T, int, int> real_gelsy{"gelsy"};
template <class T>
inline Routine<T, int, int, int, T, int, T, int, int, Real<T>, int, T, int, Real<T>, int>
    complex_gelsy{"gelsy"};
template <class T>
inline Routine<T, int, int, int, T, int, T, int, T, T, int, T, int, int, int> real_gelsd{"gelsd"};
template <class T>
inline Routine<T, int, int, int, T, int, T, int, Real<T>, Real<T>, int, T, int, Real<T>, int, int>
    complex_gelsd{"gelsd"};

}  // namespace flambeau::cpu::lapack
