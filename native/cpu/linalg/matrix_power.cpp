#include <utility>

#include "core/threads/interrupt.h"
#include "cpu/linalg/batch.h"
#include "kernels/linalg_functions.h"

namespace flambeau::cpu {

namespace {

template <class T>
class Powers {
 public:
  explicit Powers(int64_t order) : order_(order), memory_(static_cast<size_t>(3 * order * order)) {
    square_ = memory_.data();
    result_ = square_ + order * order;
    spare_ = result_ + order * order;
  }
  /// The power of a matrix of contiguous rows.
  void operator()(const T* from, int64_t n, T* to) {
    const int64_t count = order_ * order_;
    std::copy_n(from, count, square_);
    bool is_one = true;
    for (; n > 0; n >>= 1) {
      if (n & 1) {
        is_one ? static_cast<void>(std::copy_n(square_, count, result_)) : multiply(result_);
        is_one = false;
      }
      if (n > 1) multiply(square_);
    }
    if (is_one) {
      std::fill_n(result_, count, T(0));
      for (int64_t i = 0; i < order_; ++i) result_[i * order_ + i] = T(1);
    }
    std::copy_n(result_, count, to);
  }

 private:
  /// Multiplies it with the square.
  void multiply(T*& left) {
    gemm<T>({order_, order_, order_, {left, order_, 1}, {square_, order_, 1}, spare_, order_});
    std::swap(left, spare_);
    check_interrupt();
  }

  int64_t order_;
  std::vector<T> memory_;
  T *square_, *result_, *spare_;
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
