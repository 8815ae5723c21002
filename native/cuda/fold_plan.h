#pragma once

/// How the work of a reduction is divided among threads: what is the same for all folds.

#include <cstdint>

#include "core/iteration/reduction.h"
#include "cuda/layout.h"

namespace flambeau::cuda {

inline constexpr int kFoldThreads = 256;
inline constexpr int kFoldRank = Reduction::kMaxRank;

/// Dims of the elements that are kept, or of those that are reduced; innermost first.
struct FoldDims {
  int32_t rank = 0;
  Divider dividers[kFoldRank];
  int64_t extents[kFoldRank];
  int64_t input[kFoldRank];  ///< byte strides
};

/// A block's threads stand in `columns` x `rows`: a column folds one output, or `pack` of them, its
/// rows share the reduced elements and meet in shared memory. Where one block per output would
/// leave processors idle, the reduced elements are cut into `splits` too, and a second kernel
/// combines their accumulators in a fixed order.
struct FoldPlan {
  const char* input = nullptr;
  char* outputs[Reduction::kMaxOutputs] = {};
  int64_t output_strides[Reduction::kMaxOutputs][kFoldRank];
  int64_t count = 0, output_count = 0;  ///< reduced elements per output, outputs
  int64_t per_split = 0;
  int32_t columns = 1, rows = kFoldThreads, splits = 1;
  bool is_wide = false;        ///< indices need more than 31 bits
  bool rows_adjacent = false;  ///< neighbouring threads of a warp fold one output
  bool is_vector = false;      ///< reduced elements are dense and aligned: read in groups
  int32_t pack = 1;  ///< neighbouring outputs of a thread, whose elements it reads at once
  FoldDims kept, reduced;
};

/// `vector`: elements of a group of 16 bytes. Depends on the geometry and the device only.
FLAMBEAU_API FoldPlan plan_fold(const Reduction& reduction, int vector);

}  // namespace flambeau::cuda
