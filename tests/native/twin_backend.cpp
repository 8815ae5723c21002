#include <algorithm>
#include <cstdlib>

#include "core/copy.h"
#include "core/dispatch.h"
#include "core/storage.h"
#include "kernels/arithmetic.h"
#include "kernels/creation.h"

namespace {
using namespace flambeau;

class Memory final : public Allocator {
 public:
  void* allocate(size_t bytes, Device) override {
    void* data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    check(data, ErrorKind::out_of_memory, "twin: no room for ", bytes, " bytes");
    return data;
  }
  void deallocate(void* data, size_t, Device) noexcept override { std::free(data); }
  void release_cached() override {}
  AllocatorStatistics statistics() const override { return {}; }
  void reset_peak() override {}
} memory;

/// float32, from dense to dense: a real backend handles any layout and converts dtypes.
void copy(const Tensor& destination, const Tensor& source) {
  std::copy_n(source.data<float>(), source.numel(), destination.data<float>());
}

void to_copy(const Tensor& result, const Tensor& self, std::optional<DType>, std::optional<Device>,
             bool) {
  copy_data(result, self);
}

void neg(Iterator& iter, const NegParameters&) {
  iter.for_each([](char* const* data, const int64_t* strides, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      *reinterpret_cast<float*>(data[0] + i * strides[0]) =
          -*reinterpret_cast<const float*>(data[1] + i * strides[1]);
  });
}

const Backend twin = [] {
  const Backend backend = register_backend("twin");
  register_allocator(backend, &memory);
  register_copy(Backend::cpu, backend, &copy);
  register_copy(backend, Backend::cpu, &copy);
  return backend;
}();
const Register register_to_copy{"to_copy", twin, &to_copy};
const Register register_neg{"neg", twin, &neg};
}  // namespace
