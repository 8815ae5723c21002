#pragma once

#include <algorithm>

#include "cpu/linalg/vector.h"
#include "cpu/nn/conv_kernel.h"

// Planes inside zeros. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Rows of vectors; read(place in the source, count, lane): a vector whose lanes [lane, lane +
/// count) hold the elements from `place` + lane on, and 0 all others.
template <class E, class T, class Read>
void pad_by_vectors(const SourceRows<T>& rows, E* to, const Read& read) {
  constexpr int64_t lanes = kLanes<E>;
  for (int64_t j = 0; j < rows.pitch; j += lanes) {
    const int64_t lane = std::clamp<int64_t>(rows.begin - j, 0, lanes);
    const int64_t count = std::clamp<int64_t>(rows.begin + rows.count - j, 0, lanes) - lane;
    const Mask<E> room(std::min(lanes, rows.pitch - j));
    const auto reader = read(std::max<int64_t>(count, 0), count > 0 ? lane : 0);
    for (int64_t i = 0; i < rows.rows; ++i)
      room.store(to + i * rows.pitch + j,
                 count > 0 ? reader(i * rows.row_step + j - rows.begin) : Vector<E>{});
  }
}

/// Rows whose elements are apart; copy(element, where to).
template <class E, class T, class Copy>
void pad_by_elements(const SourceRows<T>& rows, E* to, const Copy& copy) {
  for (int64_t i = 0; i < rows.rows; ++i, to += rows.pitch) {
    std::fill_n(to, rows.begin, E(0));
    copy(i * rows.row_step, to + rows.begin);
    std::fill(to + rows.begin + rows.count, to + rows.pitch, E(0));
  }
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
