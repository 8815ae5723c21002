#include "cpu/onednn/matmul.h"

#include "cpu/onednn/library.h"

namespace flambeau::cpu::onednn {

#ifdef FLAMBEAU_HAS_ONEDNN
namespace {

/// Multiplications below which converting to float32 is faster than a primitive.
constexpr int64_t kSmallestWork = 32 * 32 * 32;

struct Matmul {
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
};

bool has_bfloat16() {
  static const bool value = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_bf16;
  return value;
}

dnnl::memory::desc describe(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  return {{rows, columns}, dnnl::memory::data_type::bf16, {row, column}};
}

Matmul make(int64_t m, int64_t n, int64_t k, const MatrixArgument& a, const MatrixArgument& b,
            int64_t ldc, float beta, bool has_bias) {
  dnnl::primitive_attr attributes;
  if (beta != 0) {
    dnnl::post_ops operations;
    operations.append_sum(beta);
    attributes.set_post_ops(operations);
  }
  const dnnl::memory::desc result = describe(m, n, ldc, 1);
  const dnnl::memory::desc bias = describe(1, n, n, 1);
  auto description =
      has_bias
          ? dnnl::matmul::primitive_desc(engine(), describe(m, k, a.row, a.column),
                                         describe(k, n, b.row, b.column), bias, result, attributes)
          : dnnl::matmul::primitive_desc(engine(), describe(m, k, a.row, a.column),
                                         describe(k, n, b.row, b.column), result, attributes);
  return {description, dnnl::matmul(description)};
}

/// Rows or columns that are dense inside and do not overlap.
bool is_plain(const MatrixArgument& matrix, int64_t rows, int64_t columns) {
  return (matrix.column == 1 && matrix.row >= columns) ||
         (matrix.row == 1 && matrix.column >= rows);
}

}  // namespace

bool matmul(DType dtype, int64_t m, int64_t n, int64_t k, MatrixArgument a, MatrixArgument b,
            void* c, int64_t ldc, float alpha, float beta, const void* bias) {
  if (dtype != DType::bfloat16 || alpha != 1 || m * n * k < kSmallestWork || m == 1 || n == 1)
    return false;
  if (!has_bfloat16() || !is_plain(a, m, k) || !is_plain(b, k, n)) return false;
  static Cache<Matmul> cache(256);
  const Shape key{m,
                  n,
                  k,
                  a.row,
                  a.column,
                  b.row,
                  b.column,
                  ldc,
                  static_cast<int64_t>(detail::float_bits(beta)),
                  bias != nullptr};
  const std::shared_ptr<const Matmul> cached =
      cache.get(key, [&] { return make(m, n, k, a, b, ldc, beta, bias != nullptr); });
  const auto memory = [](const dnnl::memory::desc& description, const void* data) {
    return dnnl::memory(description, engine(), const_cast<void*>(data));
  };
  const auto& description = cached->description;
  std::unordered_map<int, dnnl::memory> arguments{
      {DNNL_ARG_SRC, memory(description.src_desc(), a.data)},
      {DNNL_ARG_WEIGHTS, memory(description.weights_desc(), b.data)},
      {DNNL_ARG_DST, memory(description.dst_desc(), c)}};
  if (bias) arguments.emplace(DNNL_ARG_BIAS, memory(description.bias_desc(), bias));
  cached->primitive.execute(stream(), arguments);
  stream().wait();
  return true;
}
#else
bool matmul(DType, int64_t, int64_t, int64_t, MatrixArgument, MatrixArgument, void*, int64_t, float,
            float, const void*) {
  return false;
}
#endif

}  // namespace flambeau::cpu::onednn
