#include "core/threads/interrupt.h"
#include "cpu/linalg/batch.h"
#include "kernels/linalg_functions.h"

namespace flambeau::cpu {

namespace {

constexpr int64_t kCached = 1024;  // numbers

/// Powers of as many matrices at once.
template <class T>
class Powers {
 public:
  Powers(int64_t most, int64_t order)
      : order_(order),
        numbers_(most * order * order),
        memory_(empty(Shape{3 * numbers_}, dtype_of<T>)) {}
  /// Of `count` matrices of contiguous rows.
  void operator()(int64_t count, const T* from, int64_t n, T* to) {
    const int64_t size = order_ * order_;
    const T *square = from, *result = nullptr;
    for (; n > 0; n >>= 1) {
      if (n & 1) {
        T* const next = n == 1 ? to : spare(square, result);
        result = result == nullptr ? square : multiply(count, result, square, next);
      }
      if (n > 1) square = multiply(count, square, square, spare(square, result));
    }
    if (result == nullptr) {
      std::fill_n(to, count * size, T(0));
      for (int64_t i = 0; i < count * size; i += size)
        for (int64_t j = 0; j < order_; ++j) to[i + j * (order_ + 1)] = T(1);
    } else if (result != to) {
      std::copy_n(result, count * size, to);
    }
  }

 private:
  /// A place that holds neither of two powers.
  T* spare(const T* one, const T* other) const {
    T* place = memory_.data<T>();
    while (place == one || place == other) place += numbers_;
    return place;
  }
  const T* multiply(int64_t count, const T* left, const T* right, T* product) const {
    const int64_t size = order_ * order_;
    multiply_stacks<T>({count,
                        order_,
                        order_,
                        order_,
                        {{left, order_, 1}, size},
                        {{right, order_, 1}, size},
                        product});
    check_interrupt();
    return product;
  }

  int64_t order_, numbers_;
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
      // As many as stay in the cache.
      const int64_t most = std::clamp<int64_t>(kCached / size, 1, end - begin);
      Powers<T> power(most, order);
      for (int64_t i = begin; i < end; i += most)
        power(std::min(most, end - i), given.data<T>() + i * size, n, result.data<T>() + i * size);
    });
  });
}

}  // namespace flambeau::cpu
