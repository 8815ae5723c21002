#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "core/backends/dispatch.h"
#include "core/iteration/copy.h"
#include "core/types/element_types.h"
#include "cpu/walk.h"

namespace flambeau::cpu {

namespace {

#if defined(__x86_64__)
/// The processor's own loop, which need not fetch the memory that it overwrites.
void fill_words(char* to, uint64_t word, int64_t count) {
  asm volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(word) : "memory");
}
#else
void fill_words(char* to, uint64_t word, int64_t count) {
  for (; count > 0; --count, to += sizeof word) std::memcpy(to, &word, sizeof word);
}
#endif

template <class Word>
void fill_dense(char* to, int64_t count, Word word) {
  constexpr int64_t kSize = sizeof(Word), kShort = 1024 / kSize;
  const char* element = reinterpret_cast<const char*>(&word);
  if (std::count(element, element + kSize, *element) == kSize) {
    std::memset(to, *element, static_cast<size_t>(count * kSize));
  } else if (kSize > 8 || count < kShort) {
    std::fill_n(reinterpret_cast<Word*>(to), count, word);
  } else {
    char words[8];
    for (int64_t at = 0; at < 8; at += kSize) std::memcpy(words + at, element, sizeof word);
    const int64_t bytes = count * kSize, whole = bytes / 8 * 8;
    fill_words(to, std::bit_cast<uint64_t>(words), bytes / 8);
    std::memcpy(to + whole, words, static_cast<size_t>(bytes - whole));
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
