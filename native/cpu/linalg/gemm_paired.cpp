#include <algorithm>

#include "cpu/linalg/gemm_strategies.h"
#include "cpu/linalg/matrix_copy.h"

namespace flambeau::cpu {
namespace {

/// Element (l, p) holds elements 2p and 2p + 1 of line l; an odd one at the end is paired with 0.
/// Lines run along the depth of the product: rows of a, columns of b. The order in memory is kept.
MatrixView<Bfloat16Pair> paired(MatrixView<bfloat16> lines, int64_t count, int64_t depth,
                                Tensor& owner) {
  const int64_t pairs = (depth + 1) / 2, step = lines.column;
  owner = empty(Shape{count * pairs}, DType::int32);
  Bfloat16Pair* const out = owner.data<Bfloat16Pair>();
  const uint16_t* const from = reinterpret_cast<const uint16_t*>(lines.data);
  const auto pair = [](uint32_t low, uint32_t high) { return low | high << 16; };
  const bool along = step == 1;  // pairs are neighbours
  const int64_t outer = along ? count : pairs, inner = along ? pairs : count;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(inner, 1));
  parallel_for(0, outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      Bfloat16Pair* const to = out + o * inner;
      if (along) {
        const uint16_t* const line = from + o * lines.row;
        for (int64_t p = 0; p < depth / 2; ++p) to[p] = pair(line[2 * p], line[2 * p + 1]);
        if (depth % 2) to[depth / 2] = line[depth - 1];
      } else {
        const uint16_t* const low = from + 2 * o * step;
        const bool whole = 2 * o + 1 < depth;
        const uint16_t* const high = whole ? low + step : low;
        const uint32_t mask = whole ? 0xffff : 0;
        for (int64_t l = 0; l < count; ++l)
          to[l] = pair(low[l * lines.row], high[l * lines.row] & mask);
      }
    }
  });
  return along ? MatrixView<Bfloat16Pair>{out, pairs, 1} : MatrixView<Bfloat16Pair>{out, 1, count};
}

/// Multiplications below which making pairs costs more than it saves.
constexpr int64_t kPairedWork = 32 * 32 * 32;

}  // namespace

bool try_gemm_paired(const Product<bfloat16>& call) {
  const int64_t m = call.m, n = call.n, k = call.k;
  const GemmKernels<Bfloat16Pair>* kernels = bfloat16_kernels();
  if (!kernels || m == 1 || n == 1 || m * n * k < kPairedWork) return false;
  Tensor a_owner, b_owner;
  const MatrixView<Bfloat16Pair> a_pairs = paired(call.a, m, k, a_owner);
  const MatrixView<Bfloat16Pair> b_pairs = paired(call.b.transposed(), n, k, b_owner).transposed();
  const Tensor sums = empty(Shape{m, n}, DType::float32);
  gemm_tiled<Bfloat16Pair>({m, n, (k + 1) / 2, a_pairs, b_pairs, sums.data<float>(), n, call.alpha},
                           *kernels);
  store_sums(call, sums.data<float>());
  return true;
}

}  // namespace flambeau::cpu
