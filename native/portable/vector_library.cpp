/// Vector functions that libmvec has since glibc 2.35: part of wheels. They are looked up when the
/// library is loaded, and computed one lane after the other where there are none. The vector ABI's
/// calls are those of C, so each is a jump through a pointer.

#include <dlfcn.h>
#include <immintrin.h>

#include <cmath>

#define FLAMBEAU_OWN extern "C" __attribute__((visibility("hidden")))

namespace flambeau::portable {

namespace {

void* vector_library() {
  static void* const library = dlopen("libmvec.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library;
}

/// Lets a pointer to a function lead to the C library's, if it has that.
struct Choice {
  Choice(const char* symbol, void** function) {
    void* const library = vector_library();
    if (void* const found = library ? dlsym(library, symbol) : nullptr) *function = found;
  }
};

}  // namespace

}  // namespace flambeau::portable

// One form of a function: `symbol` takes and returns vectors of a type. Pointers have their values
// before any code runs.
#define FLAMBEAU_FORM(symbol, Vector, isa, parameters, arguments, element)  \
  namespace flambeau::portable {                                            \
  namespace of##symbol {                                                    \
    __attribute__((target(isa))) Vector each parameters {                   \
      Vector result;                                                        \
      for (unsigned lane = 0; lane < sizeof(Vector) / sizeof(x[0]); ++lane) \
        result[lane] = element;                                             \
      return result;                                                        \
    }                                                                       \
    using Function = Vector parameters;                                     \
    constinit Function* chosen = &each;                                     \
    const Choice choice(#symbol, reinterpret_cast<void**>(&chosen));        \
  }                                                                         \
  }                                                                         \
  FLAMBEAU_OWN __attribute__((target(isa))) Vector symbol parameters {      \
    return flambeau::portable::of##symbol::chosen arguments;                \
  }

#define FLAMBEAU_FORM_1(symbol, Vector, isa, name) \
  FLAMBEAU_FORM(symbol, Vector, isa, (Vector x), (x), ::name(x[lane]))
#define FLAMBEAU_FORM_2(symbol, Vector, isa, name) \
  FLAMBEAU_FORM(symbol, Vector, isa, (Vector x, Vector y), (x, y), ::name(x[lane], y[lane]))

// Of double and float, for SSE (b), AVX2 (d) and AVX-512 (e).
#define FLAMBEAU_VECTOR_1(name)                                    \
  FLAMBEAU_FORM_1(_ZGVbN2v_##name, __m128d, "sse2", name)          \
  FLAMBEAU_FORM_1(_ZGVbN4v_##name##f, __m128, "sse2", name##f)     \
  FLAMBEAU_FORM_1(_ZGVdN4v_##name, __m256d, "avx2,fma", name)      \
  FLAMBEAU_FORM_1(_ZGVdN8v_##name##f, __m256, "avx2,fma", name##f) \
  FLAMBEAU_FORM_1(_ZGVeN8v_##name, __m512d, "avx512f,fma", name)   \
  FLAMBEAU_FORM_1(_ZGVeN16v_##name##f, __m512, "avx512f,fma", name##f)
#define FLAMBEAU_VECTOR_2(name)                                     \
  FLAMBEAU_FORM_2(_ZGVbN2vv_##name, __m128d, "sse2", name)          \
  FLAMBEAU_FORM_2(_ZGVbN4vv_##name##f, __m128, "sse2", name##f)     \
  FLAMBEAU_FORM_2(_ZGVdN4vv_##name, __m256d, "avx2,fma", name)      \
  FLAMBEAU_FORM_2(_ZGVdN8vv_##name##f, __m256, "avx2,fma", name##f) \
  FLAMBEAU_FORM_2(_ZGVeN8vv_##name, __m512d, "avx512f,fma", name)   \
  FLAMBEAU_FORM_2(_ZGVeN16vv_##name##f, __m512, "avx512f,fma", name##f)

// Those of cpu/vector_functions.h less exp, log, pow, sin and cos, which are older.
FLAMBEAU_VECTOR_1(exp2)
FLAMBEAU_VECTOR_1(expm1)
FLAMBEAU_VECTOR_1(log2)
FLAMBEAU_VECTOR_1(log10)
FLAMBEAU_VECTOR_1(log1p)
FLAMBEAU_VECTOR_1(tan)
FLAMBEAU_VECTOR_1(asin)
FLAMBEAU_VECTOR_1(acos)
FLAMBEAU_VECTOR_1(atan)
FLAMBEAU_VECTOR_1(sinh)
FLAMBEAU_VECTOR_1(cosh)
FLAMBEAU_VECTOR_1(tanh)
FLAMBEAU_VECTOR_1(asinh)
FLAMBEAU_VECTOR_1(acosh)
FLAMBEAU_VECTOR_1(atanh)
FLAMBEAU_VECTOR_1(erf)
FLAMBEAU_VECTOR_1(erfc)
FLAMBEAU_VECTOR_2(atan2)
FLAMBEAU_VECTOR_2(hypot)
