// Before every kernel, behind the definitions of T, R, N and of the operands that the host writes.
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OVERLOADED static __attribute__((overloadable))

// Elements in memory, by dtype, as what they are computed in.
#define MEMORY(dtype, type)                                                                     \
  static type load_##dtype(global const char* at) { return *(global const type*)at; }           \
  static void store_##dtype(global char* at, type value) { *(global type*)at = value; }
MEMORY(uint8, uchar)
MEMORY(int8, char)
MEMORY(int16, short)
MEMORY(int32, int)
MEMORY(int64, long)
MEMORY(float32, float)
#ifdef cl_khr_fp64
MEMORY(float64, double)
#endif
// Complex numbers are moved, not computed with.
MEMORY(complex64, ulong)
MEMORY(complex128, ulong2)

static bool load_bool(global const char* at) { return *(global const uchar*)at != 0; }
static void store_bool(global char* at, bool value) { *(global uchar*)at = value; }

static float load_float16(global const char* at) { return vload_half(0, (global const half*)at); }
static void store_float16(global char* at, float value) {
  vstore_half_rte(value, 0, (global half*)at);
}

static float load_bfloat16(global const char* at) {
  return as_float((uint)(*(global const ushort*)at) << 16);
}
/// Rounds to nearest, ties to even; a NaN stays one.
static void store_bfloat16(global char* at, float value) {
  const uint bits = as_uint(value);
  const uint rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  *(global ushort*)at = value != value ? 0x7fc0 : rounded;
}
