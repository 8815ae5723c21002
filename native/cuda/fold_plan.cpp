#include "cuda/fold_plan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "cuda/device.h"

namespace flambeau::cuda {

namespace {
/// Loads that a thread should have in flight or in sequence before it is worth another thread.
constexpr int64_t kLoads = 4;
/// The same of threads that meet others of their output.
constexpr int64_t kLoadsOfRow = 8;
/// Bytes that neighbouring threads read together.
constexpr int64_t kSegment = 128;

int64_t up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }
int64_t power_of_two(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(value, 1))));
}

/// Of an extent that is used: not of an empty dim, nor of one that needs wide indices.
Divider divider(int64_t extent) {
  const bool is_used = extent > 0 && extent < int64_t{1} << 31;
  return is_used ? Divider(static_cast<uint32_t>(extent)) : Divider();
}

void set_geometry(FoldPlan& plan, const Reduction& reduction) {
  plan.input = reduction.input_data();
  plan.count = reduction.count();
  plan.output_count = reduction.output_numel();
  plan.is_wide = std::max(plan.count, plan.output_count) >= int64_t{1} << 31;
  plan.kept.rank = reduction.kept_rank();
  for (int d = 0; d < plan.kept.rank; ++d) {
    plan.kept.extents[d] = reduction.kept_extent(d);
    plan.kept.dividers[d] = divider(reduction.kept_extent(d));
    plan.kept.input[d] = reduction.input_kept_stride(d);
    for (int i = 0; i < reduction.output_count(); ++i)
      plan.output_strides[i][d] = reduction.output_stride(i, d);
  }
  plan.reduced.rank = reduction.reduced_rank();
  for (int d = 0; d < plan.reduced.rank; ++d) {
    plan.reduced.extents[d] = reduction.reduced_extent(d);
    plan.reduced.dividers[d] = divider(reduction.reduced_extent(d));
    plan.reduced.input[d] = reduction.reduced_stride(d);
  }
  for (int i = 0; i < reduction.output_count(); ++i) plan.outputs[i] = reduction.output_data(i);
}

/// Dims from `first` on lead from one group of bytes to another.
bool are_aligned(const FoldDims& dims, int first, int64_t group) {
  for (int d = first; d < dims.rank; ++d)
    if (dims.input[d] % group != 0) return false;
  return true;
}
bool is_aligned(const char* data, int64_t group) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(group) == 0;
}

/// Reduced elements can be read in groups.
bool can_group(const FoldPlan& plan, int64_t bytes, int vector) {
  const int64_t group = bytes * vector;
  return plan.reduced.rank == 1 && plan.reduced.input[0] == bytes && plan.count >= vector &&
         is_aligned(plan.input, group) && are_aligned(plan.kept, 0, group);
}
/// Elements of neighbouring outputs can.
bool can_pack(const FoldPlan& plan, int64_t bytes, int vector) {
  const int64_t group = bytes * vector;
  return plan.kept.rank > 0 && plan.kept.input[0] == bytes && plan.kept.extents[0] % vector == 0 &&
         is_aligned(plan.input, group) && are_aligned(plan.kept, 1, group) &&
         are_aligned(plan.reduced, 0, group);
}
}  // namespace

FoldPlan plan_fold(const Reduction& reduction, int vector) {
  FoldPlan plan;
  set_geometry(plan, reduction);
  const auto bytes = static_cast<int64_t>(size_of(reduction.input_dtype()));
  plan.rows_adjacent =
      plan.kept.rank == 0 ||
      (plan.reduced.rank > 0 && std::abs(plan.reduced.input[0]) < std::abs(plan.kept.input[0]));
  plan.is_vector = plan.rows_adjacent && can_group(plan, bytes, vector);
  plan.pack = !plan.rows_adjacent && can_pack(plan, bytes, vector) ? vector : 1;
  const int64_t unit = plan.is_vector ? vector : 1;
  const int64_t packs = plan.output_count / plan.pack;
  const int64_t loads = up(std::max<int64_t>(plan.count, 1), unit);
  int64_t rows;
  if (plan.rows_adjacent) {
    const int64_t coalesced = std::max<int64_t>(kSegment / (bytes * unit), 1);
    rows = std::max(power_of_two(loads / kLoadsOfRow), power_of_two(coalesced));
    rows = std::min(rows, power_of_two(loads));
  } else {
    rows = std::min<int64_t>(power_of_two(loads / (2 * kLoads)), 8);
    // Few outputs: the threads that they leave over share the reduced elements.
    rows = std::max(rows, kFoldThreads / power_of_two(packs));
  }
  rows = std::clamp<int64_t>(rows, 1, kFoldThreads);
  plan.rows = static_cast<int32_t>(rows);
  plan.columns = static_cast<int32_t>(kFoldThreads / rows);

  const DeviceLimits& device = limits(reduction.device().index);
  const int64_t blocks = up(packs, plan.columns);
  const int64_t wanted = int64_t{device.processors} * (device.threads_per_processor / kFoldThreads);
  int64_t splits = 1;
  if (blocks < wanted) {
    splits = std::min(wanted / blocks, loads / (rows * kLoads));
    splits = std::clamp<int64_t>(splits, 1, 4096);
  }
  plan.per_split = up(up(std::max<int64_t>(plan.count, 1), splits), rows * unit) * rows * unit;
  plan.splits = static_cast<int32_t>(std::max<int64_t>(up(plan.count, plan.per_split), 1));
  return plan;
}

}  // namespace flambeau::cuda
