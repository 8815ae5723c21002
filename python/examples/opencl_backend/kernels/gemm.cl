// Products of stacks of matrices, C[b] = A[b] B[b], [n, k] by [k, m]; strides in elements. A work-item
// computes a square of BLOCK x BLOCK elements, whose sums it keeps in registers.

#define BLOCK 4

typedef struct {
  long batch, row, column;
} Strides;

kernel void gemm(const long n, const long m, const long k, global const char* a,
                 global const char* b, global char* c, const Strides sa, const Strides sb,
                 const Strides sc) {
  const long column = get_global_id(0) * BLOCK, row = get_global_id(1) * BLOCK;
  const long batch = get_global_id(2);
  if (column >= m || row >= n) return;
  long at_a[BLOCK], at_b[BLOCK];
  T sums[BLOCK][BLOCK];
  for (int i = 0; i < BLOCK; ++i) {
    // Behind the edge, the last row and column are computed again, and not stored.
    at_a[i] = batch * sa.batch + min(row + i, n - 1) * sa.row;
    at_b[i] = batch * sb.batch + min(column + i, m - 1) * sb.column;
    for (int j = 0; j < BLOCK; ++j) sums[i][j] = 0;
  }
  for (long p = 0; p < k; ++p) {
    T left[BLOCK], right[BLOCK];
    for (int i = 0; i < BLOCK; ++i) {
      left[i] = LOAD(a + (at_a[i] + p * sa.column) * SIZE);
      right[i] = LOAD(b + (at_b[i] + p * sb.row) * SIZE);
    }
    for (int i = 0; i < BLOCK; ++i)
      for (int j = 0; j < BLOCK; ++j) sums[i][j] += left[i] * right[j];
  }
  for (int i = 0; i < BLOCK && row + i < n; ++i)
    for (int j = 0; j < BLOCK && column + j < m; ++j)
      STORE(c + (batch * sc.batch + (row + i) * sc.row + (column + j) * sc.column) * SIZE,
            sums[i][j]);
}
