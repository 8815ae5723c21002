#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "core/backends/dispatch.h"
#include "core/iteration/copy.h"
#include "core/types/element_types.h"
#include "cpu/walk.h"

namespace flambeau::cpu {

namespace {

/// A few elements one by one, then memcpy of what is there already, from the first-level cache.
template <class Word>
void fill_dense(char* to, int64_t count, Word word) {
  const char* element = reinterpret_cast<const char*>(&word);
  if (std::count(element, element + sizeof word, *element) == sizeof word) {
    std::memset(to, *element, static_cast<size_t>(count) * sizeof word);
    return;
  }
  constexpr int64_t kPattern = 4096 / sizeof(Word);
  const int64_t first = std::min<int64_t>(count, 16);
  for (int64_t i = 0; i < first; ++i) reinterpret_cast<Word*>(to)[i] = word;
  for (int64_t done = first; done < count;) {
    const int64_t length = std::min({done, count - done, kPattern});
    std::memcpy(to + done * static_cast<int64_t>(sizeof word), to,
                static_cast<size_t>(length) * sizeof word);
    done += length;
  }
}

void fill(const Tensor& tensor, const Scalar& value) {
  alignas(16) char element[16] = {};
  switch (tensor.dtype()) {
#define FLAMBEAU_ELEMENT_CASE(name, type, ...) \
  case DType::name:                            \
    new (element) type(value.to<type>());      \
    break;
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_ELEMENT_CASE)
#undef FLAMBEAU_ELEMENT_CASE
  }
  const auto bytes = static_cast<int64_t>(tensor.itemsize());
  Walk walk;
  walk.build(tensor.sizes(), tensor.strides(), bytes, nullptr, 0);
  char* data = tensor.data<char>();
  with_size(bytes, [&](auto word) {
    using Word = decltype(word);
    std::memcpy(&word, element, sizeof word);
    parallel_for(0, walk.numel, 4 * kGrain, [&](int64_t begin, int64_t end) {
      walk.for_runs(begin, end, [&](int64_t offset, int64_t, int64_t count) {
        char* to = data + offset;
        if (walk.to[0] == bytes) {
          fill_dense(to, count, word);
        } else {
          for (int64_t i = 0; i < count; ++i, to += walk.to[0]) *reinterpret_cast<Word*>(to) = word;
        }
      });
    });
  });
}

template <class T>
Scalar to_scalar(T value) {
  if constexpr (std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>) {
    return Scalar(complex<double>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return Scalar(value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return Scalar(value);
  } else if constexpr (std::is_integral_v<T>) {
    return Scalar(static_cast<int64_t>(value));
  } else {
    return Scalar(static_cast<double>(value));
  }
}

Scalar read_item(const Tensor& tensor) {
  switch (tensor.dtype()) {
#define FLAMBEAU_READ(name, type, ...) \
  case DType::name:                    \
    return to_scalar<type>(*tensor.data<InMemory<type>>());
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_READ)
#undef FLAMBEAU_READ
  }
  fail(ErrorKind::runtime, "item: a tensor of no known dtype");
}

[[maybe_unused]] const bool registered =
    (register_fill(Backend::cpu, &fill), register_item(Backend::cpu, &read_item), true);

}  // namespace
}  // namespace flambeau::cpu
