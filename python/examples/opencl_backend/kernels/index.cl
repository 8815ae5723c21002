// Elements chosen by indices. An index out of range sets `failed` to 1 and is left out.

/// result[..., i, ...] = self[..., index[..., i, ...], ...]; `step`: bytes from one to the next.
kernel void gather(const long count, OPERAND_0, OPERAND_1, OPERAND_2, const long size,
                   const long step, global int* failed LAYOUT) {
  const long index = get_global_id(0);
  if (index >= count) return;
  PLACES
  const long place = LOAD_1;
  if (place < 0 || place >= size) {
    *failed = 1;
  } else {
    STORE_0(LOAD_AT_2(place * step));
  }
}

/// self[..., index[..., i, ...], ...] = or += source[..., i, ...]. A work-item walks along the dim, so
/// that equal indices meet in order; steps in bytes.
kernel void scatter(const long count, OPERAND_0, OPERAND_1, OPERAND_2, const long length,
                    const long size, const long self_step, const long index_step,
                    const long source_step, const int adds, global int* failed LAYOUT) {
  const long index = get_global_id(0);
  if (index >= count) return;
  PLACES
  for (long i = 0; i < length; ++i) {
    const long place = LOAD_AT_1(i * index_step);
    if (place < 0 || place >= size) {
      *failed = 1;
    } else if (adds) {
      STORE_AT_0(place * self_step, LOAD_AT_0(place * self_step) + LOAD_AT_2(i * source_step));
    } else {
      STORE_AT_0(place * self_step, LOAD_AT_2(i * source_step));
    }
  }
}
