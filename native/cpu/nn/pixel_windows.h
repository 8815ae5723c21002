#pragma once

#include "cpu/nn/correlation.h"

// Convolutions of channels-last images whose windows are read where they lie: no patch is copied,
// at most rows of the images among zeros. Correlations are by pixels. T is float or double.

namespace flambeau::cpu {

/// Whether rows of so many results fill tiles.
template <class T>
bool fills_window_tiles(int64_t columns);

/// Whether tiles have so many rows that what lines they read is little beside their products.
template <class T>
bool has_high_window_tiles();

/// Whether so many rows of pixels, which a row of results meets, are near while it is computed.
template <class T>
bool is_near(int64_t rows, int64_t columns, int64_t channels);

/// As `correlate`; the weights of an output's tap are best dense.
template <class T>
void correlate_windows(const Correlation<T>& task);

/// The gradient of the weights, dense, elements of [groups, taps, channels, outputs], where `grad`
/// is that of the result, dense. Threads have sums of their own.
template <class T>
Tensor windows_weight_grad(const Correlation<T>& task, const T* grad);

}  // namespace flambeau::cpu
