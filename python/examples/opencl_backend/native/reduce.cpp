#include "reduce.h"

#include <algorithm>

#include "context.h"
#include "core/tensor/tensor.h"
#include "texts.h"

namespace flambeau::opencl {
namespace {

/// Elements that one work-item folds at least, and work-items that are enough.
constexpr int64_t kPartLength = 1024, kEnough = 4096;

std::string extremes(DType dtype) {
  const auto define = [](const std::string& lowest, const std::string& highest) {
    return "#define LOWEST ((A)" + lowest + ")\n#define HIGHEST ((A)" + highest + ")\n";
  };
  switch (dtype) {
    case DType::bool_:
      return define("0", "1");
    case DType::uint8:
      return define("0", "UCHAR_MAX");
    case DType::int8:
      return define("CHAR_MIN", "CHAR_MAX");
    case DType::int16:
      return define("SHRT_MIN", "SHRT_MAX");
    case DType::int32:
      return define("INT_MIN", "INT_MAX");
    case DType::int64:
      return define("LONG_MIN", "LONG_MAX");
    default:
      return define("-INFINITY", "INFINITY");
  }
}

std::string define(const std::string& name, const std::string& text) {
  return "#define " + name + " " + text + "\n";
}

std::vector<char> geometry(const Reduction& reduction, int kept, int reduced) {
  std::vector<int64_t> values;
  const auto add = [&](int rank, int padded, int64_t filler, auto value) {
    for (int d = 0; d < padded; ++d) values.push_back(d < rank ? value(d) : filler);
  };
  add(reduction.kept_rank(), kept, 1, [&](int d) { return reduction.kept_extent(d); });
  add(reduction.kept_rank(), kept, 0, [&](int d) { return reduction.input_kept_stride(d); });
  add(reduction.kept_rank(), kept, 0, [&](int d) { return reduction.output_stride(0, d); });
  add(reduction.reduced_rank(), reduced, 1, [&](int d) { return reduction.reduced_extent(d); });
  add(reduction.reduced_rank(), reduced, 0, [&](int d) { return reduction.reduced_stride(d); });
  const char* bytes = reinterpret_cast<const char*>(values.data());
  return std::vector<char>(bytes, bytes + values.size() * sizeof(int64_t));
}

}  // namespace

void reduce(const char* source, const char* accumulator, const Reduction& reduction) {
  const int64_t outputs = reduction.output_numel(), count = reduction.count();
  const int kept = std::max(reduction.kept_rank(), 1),
            reduced = std::max(reduction.reduced_rank(), 1);
  const bool is_bool = accumulator == std::string("bool") ||
                       (reduction.input_dtype() == DType::bool_ && accumulator == std::string("T"));
  const std::string loads = "load_" + std::string(name(reduction.input_dtype()));
  const std::string stores = "store_" + std::string(name(reduction.output_dtype()));
  const std::string text =
      header(reduction.input_dtype(), source) + define("A", accumulator) +
      define("PARTIAL", is_bool ? "uchar" : "A") + extremes(reduction.input_dtype()) +
      define("KEPT", std::to_string(kept)) + define("REDUCED", std::to_string(reduced)) +
      define("LOAD_INPUT(at)", loads + "(at)") +
      define("STORE_RESULT(at, value)", stores + "(at, value)") + source + texts::reduce;

  const int64_t wanted = std::max<int64_t>(kEnough / outputs, 1);
  int64_t parts = std::clamp<int64_t>(count / kPartLength, 1, wanted);
  const int64_t part_length = (count + parts - 1) / parts;
  parts = std::max<int64_t>(part_length > 0 ? (count + part_length - 1) / part_length : 1, 1);
  // Accumulators take 8 bytes at most.
  Tensor partial = empty(Shape{parts > 1 ? parts * outputs : 1}, DType::int64, reduction.device());
  const std::vector<char> dims = geometry(reduction, kept, reduced);
  Arguments fold;
  fold.integer(outputs);
  fold.integer(count);
  fold.integer(parts);
  fold.integer(part_length);
  fold.pointer(reduction.input_data());
  fold.pointer(reduction.output_data());
  fold.pointer(partial.raw_data());
  fold.put_bytes(dims);
  run("fold", text, fold, {static_cast<size_t>(outputs * parts)});
  if (parts == 1) return;
  Arguments combine;
  combine.integer(outputs);
  combine.integer(count);
  combine.integer(parts);
  combine.pointer(partial.raw_data());
  combine.pointer(reduction.output_data());
  combine.put_bytes(dims);
  run("combine", text, combine, {static_cast<size_t>(outputs)});
}

}  // namespace flambeau::opencl
