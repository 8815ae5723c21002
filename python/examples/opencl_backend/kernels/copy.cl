// Elements as they are, or in the destination's dtype.
kernel void copy(const long count, OPERAND_0, OPERAND_1 LAYOUT) {
  const long index = get_global_id(0);
  if (index >= count) return;
  PLACES
  STORE_0(LOAD_1);
}
