#include "backend.h"
#include "core/backends/dispatch.h"
#include "core/tensor/tensor.h"
#include "program.h"
#include "texts.h"

namespace flambeau::opencl {
namespace {

constexpr int64_t kBlock = 4;  // as in gemm.cl

struct Strides {
  int64_t batch, row, column;
};
Strides strides_of(const Tensor& stack) {
  return {stack.strides()[0], stack.strides()[1], stack.strides()[2]};
}

void bmm(const Tensor& result, const Tensor& self, const Tensor& mat2) {
  if (result.numel() == 0) return;
  check_dtype("bmm", result.dtype(),
              ~dtype_mask({DType::bool_, DType::complex64, DType::complex128}));
  const std::string dtype = name(result.dtype());
  const std::string source = header(result.dtype(), texts::gemm) + "#define LOAD load_" + dtype +
                             "\n#define STORE store_" + dtype + "\n#define SIZE " +
                             std::to_string(result.itemsize()) + "\n" + texts::gemm;
  const int64_t n = result.size(1), m = result.size(2);
  Arguments arguments;
  arguments.integer(n);
  arguments.integer(m);
  arguments.integer(self.size(2));
  arguments.pointer(self.raw_data());
  arguments.pointer(mat2.raw_data());
  arguments.pointer(result.raw_data());
  for (const Tensor* stack : {&self, &mat2, &result}) arguments.put(strides_of(*stack));
  const auto blocks = [](int64_t size) {
    return static_cast<size_t>((size + kBlock - 1) / kBlock);
  };
  run("gemm", source, arguments, {blocks(m), blocks(n), static_cast<size_t>(result.size(0))});
}

const Register register_bmm{"bmm", backend(), &bmm};

}  // namespace
}  // namespace flambeau::opencl
