// Random numbers of elements, the same stream as on every backend (core/random.h). Philox4x32 with
// 10 rounds: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011.

static uint4 philox(uint2 key, uint4 counter) {
  for (int round = 0; round < 10; ++round) {
    const uint high0 = mul_hi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
    const uint high2 = mul_hi(0xCD9E8D57u, counter.z), low2 = 0xCD9E8D57u * counter.z;
    counter = (uint4)(high2 ^ counter.y ^ key.x, low2, high0 ^ counter.w ^ key.y, low0);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}
static uint4 random_words(ulong seed, ulong counter, uint draw) {
  return philox((uint2)((uint)seed, (uint)(seed >> 32)),
                (uint4)((uint)counter, (uint)(counter >> 32), draw, 0));
}
/// 32-bit draws take word i % 4 of counter i / 4, 64-bit ones two words of counter i / 2.
static uint4 words_of(ulong seed, ulong first, long index, uint draw, long per_counter) {
  return random_words(seed, first + index / per_counter, draw);
}
static uint word_of(uint4 words, long k) {
  return k == 0 ? words.x : k == 1 ? words.y : k == 2 ? words.z : words.w;
}
static ulong pair_of(uint4 words, long k) {
  return k == 0 ? (ulong)words.y << 32 | words.x : (ulong)words.w << 32 | words.z;
}

static float uniform_float(ulong seed, ulong first, long index, uint draw) {
  const uint word = word_of(words_of(seed, first, index, draw, 4), index % 4);
  return (float)(int)(word >> 8) * 0x1p-24f;
}
/// Box-Muller: of two neighbours, the even element is the cosine, the odd one the sine.
static float normal_float(ulong seed, ulong first, long index, uint draw) {
  const uint4 words = words_of(seed, first, index, draw, 4);
  const uint one = index % 4 < 2 ? words.x : words.z, two = index % 4 < 2 ? words.y : words.w;
  const float radius = sqrt(-2.f * log((float)((int)(one >> 8) + 1) * 0x1p-24f));
  const float half_turns = 2.f * (float)(int)(two >> 8) * 0x1p-24f;
  return radius * (index % 2 != 0 ? sinpi(half_turns) : cospi(half_turns));
}
#ifdef cl_khr_fp64
static double uniform_double(ulong seed, ulong first, long index, uint draw) {
  return (double)(long)(pair_of(words_of(seed, first, index, draw, 2), index % 2) >> 11) * 0x1p-53;
}
static double normal_double(ulong seed, ulong first, long index, uint draw) {
  const uint4 words = words_of(seed, first, index, draw, 2);
  const double one = (double)((long)(pair_of(words, 0) >> 11) + 1) * 0x1p-53;
  const double half_turns = 2. * (double)(long)(pair_of(words, 1) >> 11) * 0x1p-53;
  return sqrt(-2. * log(one)) * (index % 2 != 0 ? sinpi(half_turns) : cospi(half_turns));
}
#endif
#define uniform(type, seed, first, index, draw) JOIN(uniform_, type)(seed, first, index, draw)
#define normal(type, seed, first, index, draw) JOIN(normal_, type)(seed, first, index, draw)

/// 64 random bits of an element, for integers.
static ulong random_bits(ulong seed, ulong first, long index) {
  return pair_of(words_of(seed, first, index, 0, 2), index % 2);
}
