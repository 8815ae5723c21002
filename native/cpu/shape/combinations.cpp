#include <numeric>
#include <vector>

#include "core/threads/interrupt.h"
#include "kernels/joining.h"

namespace flambeau::cpu {

void combination_places(const Tensor& result, const Tensor& self, int64_t r,
                        bool with_replacement) {
  const int64_t n = self.numel();
  const int64_t count = r > 0 ? result.numel() / r : 0;
  if (count == 0) return;
  const auto length = static_cast<size_t>(r);
  std::vector<int64_t> chosen(length);
  if (!with_replacement) std::iota(chosen.begin(), chosen.end(), 0);
  int64_t* out = result.data<int64_t>();
  in_blocks(count, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      out = std::copy(chosen.begin(), chosen.end(), out);
      // The next choice: the last position that may still grow does, and those behind it follow.
      size_t i = length;
      const auto most = [&](size_t at) {
        return with_replacement ? n - 1 : n - static_cast<int64_t>(length - at);
      };
      while (i > 0 && chosen[i - 1] == most(i - 1)) --i;
      if (i == 0) return;
      ++chosen[i - 1];
      for (; i < length; ++i) chosen[i] = chosen[i - 1] + (with_replacement ? 0 : 1);
    }
  });
}

}  // namespace flambeau::cpu
