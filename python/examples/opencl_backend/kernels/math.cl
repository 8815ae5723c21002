// The functions of formulas that declarations/functions does not define by others.

#define math_exp exp
#define math_exp2 exp2
#define math_expm1 expm1
#define math_log log
#define math_log2 log2
#define math_log10 log10
#define math_log1p log1p
#define math_sqrt sqrt
#define math_hypot hypot
#define math_sin sin
#define math_cos cos
#define math_tan tan
#define math_asin asin
#define math_acos acos
#define math_atan atan
#define math_atan2 atan2
#define math_sinh sinh
#define math_cosh cosh
#define math_tanh tanh
#define math_asinh asinh
#define math_acosh acosh
#define math_atanh atanh
#define math_erf erf
#define math_erfc erfc
#define math_lgamma lgamma
#define math_nextafter nextafter

#define REAL_FUNCTIONS(type)                                                                    \
  OVERLOADED type math_floor(type x) { return floor(x); }                                       \
  OVERLOADED type math_ceil(type x) { return ceil(x); }                                         \
  OVERLOADED type math_trunc(type x) { return trunc(x); }                                       \
  OVERLOADED type math_round(type x) { return rint(x); }                                        \
  OVERLOADED type math_copysign(type a, type b) { return copysign(a, b); }                      \
  OVERLOADED type math_fmod(type a, type b) { return fmod(a, b); }                              \
  OVERLOADED type math_pow(type a, type b) { return pow(a, b); }                                \
  OVERLOADED type math_remainder(type a, type b) {                                              \
    const type rest = fmod(a, b);                                                               \
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;                                \
  }                                                                                             \
  /* floor(a / b), exact: a multiple of b is taken from a before dividing. */                   \
  OVERLOADED type math_floor_divide(type a, type b) {                                           \
    if (b == 0) return a / b;                                                                   \
    const type rest = fmod(a, b);                                                               \
    type quotient = (a - rest) / b;                                                             \
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;                                      \
    if (quotient == 0) return copysign((type)0, a / b);                                         \
    const type whole = floor(quotient);                                                         \
    return quotient - whole > (type)0.5f ? whole + 1 : whole;                                   \
  }
REAL_FUNCTIONS(float)
#ifdef cl_khr_fp64
REAL_FUNCTIONS(double)
OVERLOADED long math_word(float x) { return as_long((double)x); }
OVERLOADED long math_word(double x) { return as_long(x); }
#endif

// A kernel cannot raise: an integer divided by zero gives 0.
#define INTEGER_FUNCTIONS(type, is_signed)                                                      \
  OVERLOADED type math_floor(type x) { return x; }                                              \
  OVERLOADED type math_ceil(type x) { return x; }                                               \
  OVERLOADED type math_trunc(type x) { return x; }                                              \
  OVERLOADED type math_round(type x) { return x; }                                              \
  OVERLOADED type math_copysign(type a, type b) { return b < 0 ? -a : a; }                      \
  OVERLOADED type math_fmod(type a, type b) {                                                   \
    return b == 0 || (is_signed && b == (type)-1) ? 0 : a % b;                                  \
  }                                                                                             \
  OVERLOADED type math_remainder(type a, type b) {                                              \
    const type rest = math_fmod(a, b);                                                          \
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;                                \
  }                                                                                             \
  OVERLOADED type math_floor_divide(type a, type b) {                                           \
    if (b == 0) return 0;                                                                       \
    if (is_signed && b == (type)-1) return (type)(0 - (ulong)a);                                \
    const type quotient = a / b;                                                                \
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;                   \
  }                                                                                             \
  /* Wraps around; a negative exponent gives 0 except for bases of magnitude 1. */              \
  OVERLOADED type math_pow(type a, type b) {                                                    \
    if (b < 0) return a == 1 ? 1 : is_signed && a == (type)-1 ? ((b & 1) != 0 ? -1 : 1) : 0;    \
    ulong result = 1, base = (ulong)a;                                                          \
    for (ulong left = (ulong)b; left != 0; left >>= 1) {                                        \
      if ((left & 1) != 0) result *= base;                                                      \
      base *= base;                                                                             \
    }                                                                                           \
    return (type)result;                                                                        \
  }                                                                                             \
  OVERLOADED type math_bitwise_not(type x) { return ~x; }                                       \
  /* 0 once every bit is shifted out, or for a negative count. */                               \
  OVERLOADED type math_left_shift(type a, type b) {                                             \
    return b >= 0 && (long)b < (long)(8 * sizeof(type)) ? (type)((ulong)a << (b & 63)) : 0;     \
  }                                                                                             \
  /* Keeps the sign; a count out of range shifts every bit out. */                              \
  OVERLOADED type math_right_shift(type a, type b) {                                            \
    const long last = 8 * sizeof(type) - 1;                                                     \
    return b >= 0 && (long)b <= last ? a >> b : is_signed && a < 0 ? (type)-1 : 0;              \
  }                                                                                             \
  OVERLOADED long math_word(type x) { return (long)x; }
INTEGER_FUNCTIONS(uchar, false)
INTEGER_FUNCTIONS(char, true)
INTEGER_FUNCTIONS(short, true)
INTEGER_FUNCTIONS(int, true)
INTEGER_FUNCTIONS(long, true)

OVERLOADED bool math_floor(bool x) { return x; }
OVERLOADED bool math_ceil(bool x) { return x; }
OVERLOADED bool math_trunc(bool x) { return x; }
OVERLOADED bool math_round(bool x) { return x; }
OVERLOADED bool math_copysign(bool a, bool b) { return a; }
OVERLOADED bool math_fmod(bool a, bool b) { return false; }
OVERLOADED bool math_remainder(bool a, bool b) { return false; }
OVERLOADED bool math_floor_divide(bool a, bool b) { return a && b; }
OVERLOADED bool math_pow(bool a, bool b) { return a || !b; }
OVERLOADED bool math_bitwise_not(bool x) { return !x; }
OVERLOADED bool math_left_shift(bool a, bool b) { return a; }
OVERLOADED bool math_right_shift(bool a, bool b) { return a && !b; }
OVERLOADED long math_word(bool x) { return x; }
