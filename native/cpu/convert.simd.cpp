#include "cpu/convert.h"

#include <algorithm>
#include <type_traits>

#include "cpu/elements.h"

namespace flambeau::cpu::FLAMBEAU_ISA {

namespace {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_complex_type =
    std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>;

template <class To, class From>
To convert_element(From value) {
  if constexpr (is_complex_type<From>) {
    if constexpr (is_complex_type<To>) {
      return To(value);
    } else if constexpr (std::is_same_v<To, bool>) {
      return value.re != 0 || value.im != 0;
    } else {
      return convert_element<To>(value.re);
    }
  } else if constexpr (is_complex_type<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                       sizeof(To) < sizeof(int32_t)) {
    // Through int32, which every processor converts to; what does not fit then wraps around.
    return static_cast<To>(static_cast<int32_t>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_unsigned_v<To>) {
    // Negative numbers wrap around; what is above those of int64 fits as it is.
    constexpr From kAbove = static_cast<From>(uint64_t{1} << 63);
    return sizeof(To) == sizeof(uint64_t) && value >= kAbove
               ? static_cast<To>(value)
               : static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From>
void convert_dense(To* __restrict to, const From* __restrict from, int64_t count) {
  const auto* elements = reinterpret_cast<const Loaded<From>*>(from);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<From, bool>)  // a number, which compilers keep in vectors
      to[i] = convert_element<To>(static_cast<int8_t>(elements[i] != 0));
    else
      to[i] = convert_element<To, From>(elements[i]);
  }
}

/// Half types go through float32, in pieces that stay in the first-level cache.
template <class To, class From>
void convert(char* to_bytes, const char* from_bytes, int64_t count) {
  To* to = reinterpret_cast<To*>(to_bytes);
  const From* from = reinterpret_cast<const From*>(from_bytes);
  if constexpr (!is_half<To> && !is_half<From>) {
    convert_dense(to, from, count);
  } else if constexpr (is_half<From> && std::is_same_v<To, float>) {
    load_dense(to, from, count);
  } else if constexpr (is_half<To> && std::is_same_v<From, float>) {
    store_dense(to, from, count);
  } else {
    constexpr int64_t kPiece = 1024;
    alignas(64) float piece[kPiece];
    for (int64_t done = 0; done < count; done += kPiece) {
      const int64_t length = std::min(kPiece, count - done);
      if constexpr (is_half<From>) {
        load_dense(piece, from + done, length);
      } else {
        convert_dense(piece, from + done, length);
      }
      if constexpr (is_half<To>) {
        store_dense(to + done, piece, length);
      } else {
        convert_dense(to + done, piece, length);
      }
    }
  }
}

template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// The function for two types. Integers become the same bits whether signed or not, as do those
/// that they come from where these are not widened: one function does for all of them.
template <class To, class From>
constexpr ConvertFunction* function_for() {
  if constexpr (!is_integer<To> || !is_integer<From>) {
    return &convert<To, From>;
  } else if constexpr (sizeof(From) < sizeof(To)) {
    return &convert<std::make_signed_t<To>, From>;
  } else {
    return &convert<std::make_signed_t<To>, std::make_signed_t<From>>;
  }
}

template <class To>
ConvertFunction* find_from(DType from) {
  switch (from) {
#define FLAMBEAU_FROM(name, type, ...)                                        \
  case DType::name:                                                           \
    if constexpr (!std::is_same_v<To, type>) return function_for<To, type>(); \
    break;
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_FROM)
#undef FLAMBEAU_FROM
  }
  return nullptr;
}

}  // namespace

FLAMBEAU_API ConvertFunction* find_convert(DType to, DType from) {
  switch (to) {
#define FLAMBEAU_TO(name, type, ...) \
  case DType::name:                  \
    return find_from<type>(from);
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_TO)
#undef FLAMBEAU_TO
  }
  return nullptr;
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
