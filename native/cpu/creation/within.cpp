#include <algorithm>

#include "core/threads/parallel.h"
#include "cpu/dtype_switch.h"
#include "kernels/comparison.h"

namespace flambeau::cpu {
namespace {

struct Interval {
  double low, high;
  bool nan;
  ErrorKind kind;
  std::string_view of, what;
};

template <class T>
void check_elements(const T* data, int64_t count, const Interval& interval) {
  using Wide = std::conditional_t<is_half_type<T>, float,
                                  std::conditional_t<std::is_floating_point_v<T>, T, double>>;
  const auto low = static_cast<Wide>(interval.low), high = static_cast<Wide>(interval.high);
  const bool nan = interval.nan;
  const auto lies_outside = [=](T element) {
    const auto value = static_cast<Wide>(element);
    return nan ? value < low || value > high : !(value >= low && value <= high);
  };
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    int outside = 0;
    if (nan) {
      for (int64_t i = begin; i < end; ++i)
        outside |= (static_cast<Wide>(data[i]) < low) | (static_cast<Wide>(data[i]) > high);
    } else {
      for (int64_t i = begin; i < end; ++i)
        outside |= !((static_cast<Wide>(data[i]) >= low) & (static_cast<Wide>(data[i]) <= high));
    }
    if (!outside) return;
    const T* const found = std::find_if(data + begin, data + end, lies_outside);
    fail(interval.kind, interval.of, "(): argument ", interval.what, " must lie in [", interval.low,
         ", ", interval.high, "], got ", static_cast<Wide>(*found));
  });
}

}  // namespace

void within(const Tensor& result, const Tensor& self, double low, double high, std::string_view of,
            std::string_view what, bool nan, bool value_error) {
  copy_data(result, self);
  const ErrorKind kind = value_error ? ErrorKind::value : ErrorKind::runtime;
  visit_ordered_dtype(self.dtype(), "within", [&]<class T>() {
    check_elements(result.data<T>(), result.numel(), Interval{low, high, nan, kind, of, what});
  });
}

}  // namespace flambeau::cpu
