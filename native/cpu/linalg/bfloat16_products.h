#pragma once

// Included before all else, this has a *.simd.cpp file that is compiled for AVX-512 use products of
// pairs of bfloat16 (AVX-512 BF16) too: what the file itself asks for reaches only what follows.

#ifdef __AVX512F__
#pragma GCC target("avx512bf16")
#define FLAMBEAU_BFLOAT16_PRODUCTS  // the compiler's own macro does not follow the pragma
#endif
