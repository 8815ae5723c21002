#include "cpu/sort/key_kernels.h"

#include "cpu/elements.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Calls body(first, count, piece) for pieces of halves, which pass through floats.
template <class Body>
void in_pieces(int64_t count, const Body& body) {
  constexpr int64_t kPiece = 1024;
  alignas(64) float piece[kPiece];
  for (int64_t i = 0; i < count; i += kPiece) body(i, std::min(kPiece, count - i), piece);
}

template <class T>
void keys(KeyOf<T>* __restrict to, const T* __restrict from, int64_t count, KeyOf<T> flip) {
  if constexpr (is_half_type<T>) {
    in_pieces(count, [&](int64_t first, int64_t length, float* piece) {
      load_dense(piece, from + first, length);
      keys<float>(to + first, piece, length, flip);
    });
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = order_key(from[i]) ^ flip;
  }
}

template <class T>
void values(T* __restrict to, const KeyOf<T>* __restrict from, int64_t count, KeyOf<T> flip) {
  if constexpr (is_half_type<T>) {
    in_pieces(count, [&](int64_t first, int64_t length, float* piece) {
      values<float>(piece, from + first, length, flip);
      store_dense(to + first, piece, length);
    });
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = value_of<T>(from[i] ^ flip);
  }
}

template <class T>
void items(Item<KeyOf<T>>* __restrict to, const T* __restrict from, int64_t first, int64_t count,
           KeyOf<T> flip) {
  if constexpr (is_half_type<T>) {
    in_pieces(count, [&](int64_t start, int64_t length, float* piece) {
      load_dense(piece, from + start, length);
      items<float>(to + start, piece, first + start, length, flip);
    });
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = make_item<KeyOf<T>>(order_key(from[i]) ^ flip, first + i);
  }
}

template <class T>
void split(T* __restrict to, int64_t* __restrict positions, const Item<KeyOf<T>>* __restrict items,
           int64_t count, KeyOf<T> flip) {
  for (int64_t i = 0; i < count; ++i) positions[i] = position_of(items[i]);
  if (!to) return;
  if constexpr (is_half_type<T>) {
    in_pieces(count, [&](int64_t first, int64_t length, float* piece) {
      for (int64_t i = 0; i < length; ++i)
        piece[i] = value_of<float>(static_cast<KeyOf<T>>(key_of(items[first + i])) ^ flip);
      store_dense(to + first, piece, length);
    });
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i] = value_of<T>(static_cast<KeyOf<T>>(key_of(items[i])) ^ flip);
  }
}

}  // namespace

template <class T>
const KeyKernels<T>& key_kernels() {
  static constexpr KeyKernels<T> kernels{&keys<T>, &values<T>, &items<T>, &split<T>};
  return kernels;
}

// By category: complex numbers have no order.
#define FLAMBEAU_ORDERED(type) template const KeyKernels<InMemory<type>>& key_kernels();
#define FLAMBEAU_ORDERED_boolean FLAMBEAU_ORDERED
#define FLAMBEAU_ORDERED_unsigned_integer FLAMBEAU_ORDERED
#define FLAMBEAU_ORDERED_signed_integer FLAMBEAU_ORDERED
#define FLAMBEAU_ORDERED_limited_integer FLAMBEAU_ORDERED
#define FLAMBEAU_ORDERED_floating FLAMBEAU_ORDERED
#define FLAMBEAU_ORDERED_complex(type)
#define FLAMBEAU_KEYS(name, type, category, ...) FLAMBEAU_ORDERED_##category(type)
FLAMBEAU_FOR_EACH_DTYPE(FLAMBEAU_KEYS)

}  // namespace flambeau::cpu::FLAMBEAU_ISA
