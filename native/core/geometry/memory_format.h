#pragma once

#include "core/geometry/shape.h"

namespace flambeau {

/// Whether the strides of [batch, channels, ...], of three dims or more, put channels next to each
/// other, and what follows them and images around them; gaps may lie between them. Not where they
/// are those of row-major order, too, as of one channel.
FLAMBEAU_API bool has_channels_inside(IntList sizes, IntList strides);

/// The same of images or volumes, which have four or five dims.
inline bool is_channels_last(IntList sizes, IntList strides) {
  return (sizes.size() == 4 || sizes.size() == 5) && has_channels_inside(sizes, strides);
}

/// The strides of [batch, channels, ...] without gaps whose channels lie next to each other.
FLAMBEAU_API Shape channels_last_strides(IntList sizes);

/// Those where `like`, of as many dims, is channels-last, else row-major ones.
FLAMBEAU_API Shape format_strides(IntList sizes, IntList like, IntList strides);

}  // namespace flambeau
