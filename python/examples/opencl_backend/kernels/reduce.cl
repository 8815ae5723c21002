// A reduction, behind the functions of its fold. A work-item folds one part of the elements of one
// output; where there are several parts, a second kernel combines their accumulators in order.

/// KEPT and REDUCED: numbers of dims, innermost first. Strides in bytes.
typedef struct {
  long kept_extents[KEPT], kept_input[KEPT], kept_output[KEPT];
  long reduced_extents[REDUCED], reduced_input[REDUCED];
} Geometry;

static void write(global char* output, const Geometry* geometry, long place, long count, A value) {
  long offset = 0;
  for (int d = 0; d < KEPT; ++d) {
    offset += place % geometry->kept_extents[d] * geometry->kept_output[d];
    place /= geometry->kept_extents[d];
  }
  STORE_RESULT(output + offset, fold_finish(value, count));
}

kernel void fold(const long outputs, const long count, const long parts, const long part_length,
                 global const char* input, global char* output, global PARTIAL* partial,
                 const Geometry geometry) {
  const long id = get_global_id(0);
  if (id >= outputs * parts) return;
  const long place = id % outputs, part = id / outputs;
  long rest = place;
  for (int d = 0; d < KEPT; ++d) {
    input += rest % geometry.kept_extents[d] * geometry.kept_input[d];
    rest /= geometry.kept_extents[d];
  }
  const long end = min(count, (part + 1) * part_length);
  A value = fold_init();
  for (long i = part * part_length; i < end; ++i) {
    long offset = 0, left = i;
    for (int d = 0; d + 1 < REDUCED; ++d) {
      offset += left % geometry.reduced_extents[d] * geometry.reduced_input[d];
      left /= geometry.reduced_extents[d];
    }
    offset += left * geometry.reduced_input[REDUCED - 1];
    value = fold_step(value, LOAD_INPUT(input + offset));
  }
  if (parts == 1) {
    write(output, &geometry, place, count, value);
  } else {
    partial[id] = value;
  }
}

kernel void combine(const long outputs, const long count, const long parts,
                    global const PARTIAL* partial, global char* output, const Geometry geometry) {
  const long place = get_global_id(0);
  if (place >= outputs) return;
  A value = partial[place];
  for (long part = 1; part < parts; ++part)
    value = fold_combine(value, partial[part * outputs + place]);
  write(output, &geometry, place, count, value);
}
