// Elements that follow from their position.

kernel void arange(const long count, OPERAND_0, const N start, const N step LAYOUT) {
  const long index = get_global_id(0);
  if (index >= count) return;
  PLACES
  STORE_0(start + (N)index * step);
}

/// Counted from the nearer end, so that both ends are exact.
kernel void linspace(const long count, OPERAND_0, const double start, const double end LAYOUT) {
  const long index = get_global_id(0);
  if (index >= count) return;
  PLACES
  const double step = count > 1 ? (end - start) / (double)(count - 1) : 0;
  STORE_0(index < (count + 1) / 2 ? start + step * (double)index
                                  : end - step * (double)(count - 1 - index));
}

kernel void random_integers(const long count, OPERAND_0, const ulong seed, const ulong first,
                            const long low, const long range LAYOUT) {
  const long index = get_global_id(0);
  if (index >= count) return;
  PLACES
  STORE_0((long)((ulong)low + mul_hi(random_bits(seed, first, index), (ulong)range)));
}
