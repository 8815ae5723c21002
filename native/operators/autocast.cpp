#include "operators/autocast.h"

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "autograd/graph/grad_mode.h"
#include "autograd/graph/history.h"
#include "core/tensor/promotion.h"

namespace flambeau::autocast {

static_assert(kMaxBackends <= 8, "a bit for each");
FLAMBEAU_FAST_TLS thread_local constinit uint8_t enabled_backends = 0;

namespace {

/// A leaf that was cast, as it was then.
struct Cast {
  Tensor leaf, result;
  Ref<Storage> storage;
  uint32_t version;
  bool is_of(const Tensor& tensor) const {
    return storage.get() == tensor.storage().get() && version == tensor.version();
  }
};

struct Settings {
  std::array<std::optional<DType>, kMaxBackends> dtypes;
  bool caches = true;
  int64_t depth = 0;
  std::unordered_map<const TensorImpl*, Cast> cache;
};

Settings& settings() {
  thread_local Settings of_thread;
  return of_thread;
}

uint8_t bit(Backend backend) { return static_cast<uint8_t>(1U << static_cast<unsigned>(backend)); }

/// Whether the cast of a tensor serves further calls, and their gradients. Outside of scopes, whose
/// end empties the cache, nothing is kept: it would grow with every new leaf.
bool is_kept(const Tensor& tensor) {
  return settings().depth > 0 && settings().caches && grad_enabled() &&
         autograd::requires_grad(tensor) && autograd::is_leaf(tensor) &&
         !autograd::is_view(tensor) && tensor.dtype() == DType::float32 &&
         autograd::forward_level.load(std::memory_order_relaxed) == 0;
}

Tensor cast(const Tensor& tensor, DType dtype) {
  return autograd::operations().cast(tensor, dtype);
}

Tensor cast_once(const Tensor& leaf, DType dtype) {
  auto& cache = settings().cache;
  const auto found = cache.find(leaf.impl());
  if (found != cache.end()) {
    const Cast& known = found->second;
    if (known.is_of(leaf) && known.result.dtype() == dtype) return known.result;
  }
  Tensor result = cast(leaf, dtype);
  cache.insert_or_assign(leaf.impl(), Cast{leaf, result, leaf.storage(), leaf.version()});
  return result;
}

}  // namespace

bool is_enabled(Backend backend) { return (enabled_backends & bit(backend)) != 0; }
void set_enabled(Backend backend, bool enabled) {
  const uint8_t others = static_cast<uint8_t>(enabled_backends & ~bit(backend));
  enabled_backends = enabled ? static_cast<uint8_t>(others | bit(backend)) : others;
}

DType dtype(Backend backend) {
  const auto& chosen = settings().dtypes[static_cast<size_t>(backend)];
  return chosen.value_or(backend == Backend::cuda ? DType::float16 : DType::bfloat16);
}
void set_dtype(Backend backend, DType dtype) {
  settings().dtypes[static_cast<size_t>(backend)] = dtype;
}

bool is_cache_enabled() { return settings().caches; }
void set_cache_enabled(bool enabled) { settings().caches = enabled; }
void clear_cache() { settings().cache.clear(); }
int64_t enter_scope() { return ++settings().depth; }
int64_t leave_scope() { return --settings().depth; }

Region::Region(Policies policies, forms::TrackedList arguments) : before_(enabled_backends) {
  const Tensor* first = nullptr;  // on a device where autocast is on
  for (const forms::Tracked& argument : arguments) {
    argument.each([&](const Tensor& tensor) {
      if (!first && tensor.defined() && is_enabled(tensor.device().backend)) first = &tensor;
    });
  }
  if (!first) return;
  backend_ = first->device().backend;
  // A tensor without elements stands for one of the host.
  const bool is_of_host = first->device().is_cpu() || backend_ == Backend::meta;
  policy_ = is_of_host ? policies.cpu : policies.others;
  if (policy_ == Policy::none) return;
  if (policy_ == Policy::lower) target_ = dtype(backend_);
  if (policy_ == Policy::widest) {
    std::optional<DType> widest;
    for (const forms::Tracked& argument : arguments) {
      argument.each([&](const Tensor& tensor) {
        if (!is_eligible(tensor)) return;
        widest = widest ? promote(*widest, tensor.dtype()) : tensor.dtype();
      });
    }
    target_ = widest.value_or(target_);
  }
  set_enabled(backend_, false);
}

Region::~Region() { enabled_backends = before_; }

bool Region::is_eligible(const Tensor& argument) const {
  return argument.defined() && argument.device().backend == backend_ &&
         is_floating(argument.dtype()) && argument.dtype() != DType::float64;
}

Tensor Region::operator()(const Tensor& argument) const {
  if (!is_eligible(argument) || argument.dtype() == target_) return argument;
  if (policy_ == Policy::lower && is_kept(argument)) return cast_once(argument, target_);
  return cast(argument, target_);
}

std::vector<Tensor> Region::operator()(TensorList arguments) const {
  std::vector<Tensor> converted;
  converted.reserve(arguments.size());
  for (const Tensor& argument : arguments) converted.push_back((*this)(argument));
  return converted;
}

}  // namespace flambeau::autocast
