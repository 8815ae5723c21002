#pragma once

#include "core/geometry/shape.h"

namespace flambeau {

/// Whether the strides of images or volumes, [batch, channels, ...] of four or five dims, put
/// channels next to each other, and rows and images around them; gaps may lie between them. Not
/// where they are those of row-major order, too, as of one channel.
FLAMBEAU_API bool is_channels_last(IntList sizes, IntList strides);

/// The strides of [batch, channels, ...] without gaps whose channels lie next to each other.
FLAMBEAU_API Shape channels_last_strides(IntList sizes);

}  // namespace flambeau
