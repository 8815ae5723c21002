#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>

#include "core/base/macros.h"
#include "core/types/complex.h"
#include "core/types/half.h"
#include "dtypes.h"  // generated

namespace flambeau {

/// Element types, generated from declarations/dtypes.yaml.
enum class DType : uint8_t {
#define FLAMBEAU_ENUMERATOR(name, ...) name,
  FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_ENUMERATOR)
#undef FLAMBEAU_ENUMERATOR
};

/// limited_integer: unsigned ones that few operators compute with.
enum class DTypeCategory : uint8_t {
  boolean,
  unsigned_integer,
  signed_integer,
  limited_integer,
  floating,
  complex
};

struct DTypeInfo {
  const char* name;
  uint8_t size;
  DTypeCategory category;
};

inline constexpr DTypeInfo kDTypes[] = {
#define FLAMBEAU_INFO(name, type, category, size, python) {python, size, DTypeCategory::category},
    FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_INFO)
#undef FLAMBEAU_INFO
};
inline constexpr int kDTypeCount = sizeof kDTypes / sizeof kDTypes[0];

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }
constexpr const char* name(DType dtype) { return info(dtype).name; }
constexpr size_t size_of(DType dtype) { return info(dtype).size; }
constexpr DTypeCategory category(DType dtype) { return info(dtype).category; }
constexpr bool is_complex(DType dtype) { return category(dtype) == DTypeCategory::complex; }
constexpr bool is_floating(DType dtype) { return category(dtype) == DTypeCategory::floating; }
constexpr bool is_limited(DType dtype) { return category(dtype) == DTypeCategory::limited_integer; }
/// Integers, without bool.
constexpr bool is_integral(DType dtype) {
  return category(dtype) > DTypeCategory::boolean && category(dtype) < DTypeCategory::floating;
}
/// Integers without negative ones, without bool.
constexpr bool is_unsigned(DType dtype) {
  return category(dtype) == DTypeCategory::unsigned_integer || is_limited(dtype);
}
/// Whether there are negative elements.
constexpr bool is_signed(DType dtype) { return dtype != DType::bool_ && !is_unsigned(dtype); }
/// float or complex: what can carry a gradient.
constexpr bool is_differentiable(DType dtype) { return category(dtype) >= DTypeCategory::floating; }

/// A set of dtypes: a bit for each.
using DTypeSet = uint32_t;
constexpr DTypeSet dtype_bit(DType dtype) { return 1u << static_cast<int>(dtype); }
/// Those of a category.
constexpr DTypeSet dtypes_of(DTypeCategory category) {
  DTypeSet set = 0;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypes[i].category == category) set |= 1u << i;
  }
  return set;
}
template <DType... dtypes>
inline constexpr DTypeSet kOnly = (0u | ... | dtype_bit(dtypes));
inline constexpr DTypeSet kBool = dtypes_of(DTypeCategory::boolean);
inline constexpr DTypeSet kIntegers =
    dtypes_of(DTypeCategory::unsigned_integer) | dtypes_of(DTypeCategory::signed_integer);
inline constexpr DTypeSet kFloats = dtypes_of(DTypeCategory::floating);
inline constexpr DTypeSet kComplexes = dtypes_of(DTypeCategory::complex);
inline constexpr DTypeSet kLimited = dtypes_of(DTypeCategory::limited_integer);
/// Those that kernels compute with unless they say otherwise.
inline constexpr DTypeSet kComputed = kBool | kIntegers | kFloats | kComplexes;
inline constexpr DTypeSet kEveryDType = kComputed | kLimited;

/// The dtype of a C++ type, and back.
template <class T>
struct DTypeOf;
template <DType dtype>
struct CppTypeOf;
#define FLAMBEAU_MAP(name, type, ...)           \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  };                                            \
  template <>                                   \
  struct CppTypeOf<DType::name> {               \
    using type_ = type;                         \
  };
FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_MAP)
#undef FLAMBEAU_MAP
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;
template <DType dtype>
using cpp_type = typename CppTypeOf<dtype>::type_;

/// The smallest type that holds both, by PyTorch's lattice (uint8 with a signed type widens to
/// int16). Error(runtime) for a limited integer with bool, another integer or a complex type.
FLAMBEAU_API DType promote(DType a, DType b);
/// float32 for complex64, float64 for complex128, itself otherwise.
FLAMBEAU_API DType real_dtype(DType dtype);
/// complex64 for float16/bfloat16/float32, complex128 for float64, itself when complex.
FLAMBEAU_API DType complex_dtype(DType dtype);
/// Whether PyTorch lets a result of `from` be written into an output of `to` (category must not
/// shrink).
FLAMBEAU_API bool can_cast(DType from, DType to);

FLAMBEAU_API DType default_dtype();
/// Accepts floating types only.
FLAMBEAU_API void set_default_dtype(DType dtype);

/// "flambeau.float32", as Python prints it.
FLAMBEAU_API std::ostream& operator<<(std::ostream& stream, DType dtype);

}  // namespace flambeau
