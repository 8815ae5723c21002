#pragma once

#include <optional>
#include <string_view>

#include "core/geometry/shape_rules.h"

/// What the formulas of Fourier transforms call: their dims, lengths, layouts and scales. Declared
/// in declarations/functions/shapes.yaml.
namespace flambeau::shape_rules {

/// The list with the items at some positions replaced.
FLAMBEAU_API Shape placed(IntList items, IntList positions, IntList values,
                          const char* op = "placed");

/// The dims that a transform goes over: those given, or the last ones, as many as sizes are given,
/// or all.
FLAMBEAU_API Shape fft_dims(int64_t rank, const std::optional<IntList>& sizes,
                            const std::optional<IntList>& dims, const char* op = "fft");

/// The lengths of a transform along dims: those given, -1: that of the dim.
FLAMBEAU_API Shape fft_sizes(IntList shape, const std::optional<IntList>& sizes, IntList dims,
                             const char* op = "fft");

/// Dims in the order in which transforms lay out their results: the others, then those that are
/// transformed, of each kind those with large strides first; the last of all stays it if told so.
FLAMBEAU_API Shape fft_order(IntList strides, IntList dims, bool keeps_last);

/// Strides without gaps of dims that are nested in an order.
FLAMBEAU_API Shape nested_strides(IntList shape, IntList order, const char* op = "nested_strides");

/// What a transform of n points is multiplied with. `forward`: its direction.
FLAMBEAU_API double fft_scale(const std::optional<std::string_view>& norm, int64_t n, bool forward);

}  // namespace flambeau::shape_rules
