#include "cuda/copy.h"
#include "cuda/loops.cuh"

namespace flambeau::cuda {

namespace {

struct alignas(16) Word16 {
  uint64_t low, high;
};

constexpr int kTile = 32, kTileRows = 8;

/// Dims 0 and `across` are walked in tiles; the others make up `outer`.
struct TransposePlan {
  char* to;
  const char* from;
  int64_t to_across, from_inner;  // byte strides; the other two are one element
  int64_t columns, rows;          // extents of dim 0 and of `across`
  int64_t column_tiles, row_tiles;
  int32_t outer_rank;
  int64_t extents[kMapRank], to_outer[kMapRank], from_outer[kMapRank];
};

template <class Word>
__global__ void __launch_bounds__(kTile* kTileRows)
    transpose_kernel(const __grid_constant__ TransposePlan plan) {
  // One more column: the words of a column lie in different banks.
  alignas(16) __shared__ char memory[kTile * (kTile + 1) * sizeof(Word)];
  Word(*square)[kTile + 1] = reinterpret_cast<Word(*)[kTile + 1]>(memory);
  int64_t tile = blockIdx.x;
  const int64_t column = tile % plan.column_tiles * kTile;
  tile /= plan.column_tiles;
  const int64_t row = tile % plan.row_tiles * kTile;
  tile /= plan.row_tiles;
  char* to = plan.to;
  const char* from = plan.from;
  for (int d = 0; d < plan.outer_rank; ++d) {
    const int64_t index = tile % plan.extents[d];
    tile /= plan.extents[d];
    to += index * plan.to_outer[d];
    from += index * plan.from_outer[d];
  }
  const int x = static_cast<int>(threadIdx.x);
  for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
    // Neighbouring threads read along `across`, which is dense in the source.
    if (row + x < plan.rows && column + y < plan.columns)
      square[y][x] = reinterpret_cast<const Word*>(from + (column + y) * plan.from_inner)[row + x];
  }
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
    if (row + y < plan.rows && column + x < plan.columns)
      reinterpret_cast<Word*>(to + (row + y) * plan.to_across)[column + x] = square[x][y];
  }
}

template <class Word>
void copy_as(const Iterator& iter) {
  map<Types<Outs<Word>, Ins<Word>>, Returns, 1>(iter, [] __device__(Word word) { return word; });
}

template <class Word>
void transpose_as(const TransposePlan& plan, unsigned blocks, int device) {
  const DeviceGuard guard(device);
  launch_kernel("copy", transpose_kernel<Word>, blocks, dim3(kTile, kTileRows),
                current_stream(device), plan);
}

}  // namespace

void copy_words(const Iterator& iter) {
  switch (size_of(iter.dtype(0))) {
    case 1:
      return copy_as<uint8_t>(iter);
    case 2:
      return copy_as<uint16_t>(iter);
    case 4:
      return copy_as<uint32_t>(iter);
    case 8:
      return copy_as<uint64_t>(iter);
    default:
      return copy_as<Word16>(iter);
  }
}

bool copy_transposed(const Iterator& iter) {
  const auto bytes = static_cast<int64_t>(size_of(iter.dtype(0)));
  constexpr int64_t kShort = 8;  // tiles of such thin shapes would be mostly empty
  if (iter.rank() < 2 || iter.byte_stride(0, 0) != bytes || iter.byte_stride(1, 0) == bytes ||
      iter.byte_stride(1, 0) == 0 || iter.extent(0) < kShort)
    return false;
  int across = 0;
  for (int d = 1; d < iter.rank() && across == 0; ++d)
    if (iter.byte_stride(1, d) == bytes && iter.extent(d) >= kShort) across = d;
  if (across == 0) return false;

  TransposePlan plan{};
  plan.to = iter.data(0);
  plan.from = iter.data(1);
  plan.to_across = iter.byte_stride(0, across);
  plan.from_inner = iter.byte_stride(1, 0);
  plan.columns = iter.extent(0);
  plan.rows = iter.extent(across);
  plan.column_tiles = (plan.columns + kTile - 1) / kTile;
  plan.row_tiles = (plan.rows + kTile - 1) / kTile;
  int64_t blocks = plan.column_tiles * plan.row_tiles;
  for (int d = 1; d < iter.rank(); ++d) {
    if (d == across) continue;
    plan.extents[plan.outer_rank] = iter.extent(d);
    plan.to_outer[plan.outer_rank] = iter.byte_stride(0, d);
    plan.from_outer[plan.outer_rank] = iter.byte_stride(1, d);
    ++plan.outer_rank;
    blocks *= iter.extent(d);
  }
  if (blocks >= int64_t{1} << 31) return false;
  const auto grid = static_cast<unsigned>(blocks);
  const int device = iter.device().index;
  switch (bytes) {
    case 1:
      transpose_as<uint8_t>(plan, grid, device);
      break;
    case 2:
      transpose_as<uint16_t>(plan, grid, device);
      break;
    case 4:
      transpose_as<uint32_t>(plan, grid, device);
      break;
    case 8:
      transpose_as<uint64_t>(plan, grid, device);
      break;
    default:
      transpose_as<Word16>(plan, grid, device);
  }
  return true;
}

}  // namespace flambeau::cuda
