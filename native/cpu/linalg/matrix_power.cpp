#include "core/threads/interrupt.h"
#include "cpu/linalg/batch.h"
#include "kernels/linalg_functions.h"

namespace flambeau::cpu {

namespace {

template <class T>
class Powers {
 public:
  explicit Powers(int64_t order)
      : order_(order), count_(order * order), memory_(empty(Shape{3 * count_}, dtype_of<T>)) {}
  /// The power of a matrix of contiguous rows.
  void operator()(const T* from, int64_t n, T* to) {
    const T *square = from, *result = nullptr;
    for (; n > 0; n >>= 1) {
      if (n & 1) {
        T* const next = n == 1 ? to : spare(square, result);
        result = result == nullptr ? square : multiply(result, square, next);
      }
      if (n > 1) square = multiply(square, square, spare(square, result));
    }
    if (result == nullptr) {
      std::fill_n(to, count_, T(0));
      for (int64_t i = 0; i < order_; ++i) to[i * order_ + i] = T(1);
    } else if (result != to) {
      std::copy_n(result, count_, to);
    }
  }

 private:
  /// A place that holds neither of two matrices.
  T* spare(const T* one, const T* other) const {
    T* place = memory_.data<T>();
    while (place == one || place == other) place += count_;
    return place;
  }
  const T* multiply(const T* left, const T* right, T* product) const {
    gemm<T>({order_, order_, order_, {left, order_, 1}, {right, order_, 1}, product, order_});
    check_interrupt();
    return product;
  }

  int64_t order_, count_;
  Tensor memory_;
};

}  // namespace

void natural_power(const Tensor& result, const Tensor& self, int64_t n) {
  if (result.numel() == 0) return;
  const Tensor given = contiguous_data(self);
  const int64_t order = self.size(-1), size = order * order;
  visit_numeric(self.dtype(), "matrix_power", [&](auto zero) {
    using T = decltype(zero);
    over_batch(given.numel() / size, order, order, order, [&](int64_t begin, int64_t end) {
      Powers<T> power(order);
      for (int64_t i = begin; i < end; ++i)
        power(given.data<T>() + i * size, n, result.data<T>() + i * size);
    });
  });
}

}  // namespace flambeau::cpu
