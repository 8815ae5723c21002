#include "cpu/nn/line_sums.h"

#include <algorithm>

#include "cpu/linalg/vector.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

/// Adds one line. The last vector of those that no vectors fill overlaps the one before, where it
/// adds nothing.
template <class T>
class LineAdder {
 public:
  explicit LineAdder(int64_t length)
      : length_(length),
        whole_(length / kLanes<T> * kLanes<T>),
        last_(length - whole_, whole_ > 0 ? kLanes<T> - (length - whole_) : 0) {}

  FLAMBEAU_INLINE void add(const T* from, T* to) const {
    for (int64_t e = 0; e < whole_; e += kLanes<T>) store(to + e, load(to + e) + load(from + e));
    if (whole_ == length_) return;
    if (whole_ == 0) return last_.store(to, last_.load(to) + last_.load(from));
    const int64_t e = length_ - kLanes<T>;
    store(to + e, load(to + e) + last_.load(from + e));
  }

 private:
  int64_t length_, whole_;
  Mask<T> last_;
};

}  // namespace

template <class T>
void add_lines(int64_t count, int64_t length, const T* from, int64_t from_step, T* to,
               int64_t to_step) {
  const LineAdder<T> line(length);
  // Lines that follow each other here do not overlap: what is stored need not be read at once.
  const int64_t apart =
      to_step > 0 ? std::clamp<int64_t>((length + to_step - 1) / to_step, 1, 8) : 1;
  for (int64_t first = 0; first < std::min(apart, count); ++first)
    for (int64_t i = first; i < count; i += apart) line.add(from + i * from_step, to + i * to_step);
}

template <class T>
void add_to_every_second(int64_t length, const T* from, T* to) {
  constexpr int lanes = kLanes<T>;
  typedef typename VectorOf<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>::type Index;
  // Elements of half a vector, and zeros between them, which change nothing but a zero's sign.
  Index low, high;
  for (int i = 0; i < lanes; ++i) {
    low[i] = i % 2 ? lanes : i / 2;
    high[i] = i % 2 ? lanes : lanes / 2 + i / 2;
  }
  const Vector<T> none = {};
  int64_t i = 0;
  for (; i + lanes < length; i += lanes, to += 2 * lanes) {
    const Vector<T> values = load(from + i);
    store(to, load(to) + __builtin_shuffle(values, none, low));
    store(to + lanes, load(to + lanes) + __builtin_shuffle(values, none, high));
  }
  const int64_t left = length - i, places = 2 * left - 1;
  if (left <= 0) return;
  const Vector<T> values = Mask<T>(left).load(from + i);
  const Mask<T> first(std::min<int64_t>(places, lanes));
  first.store(to, first.load(to) + __builtin_shuffle(values, none, low));
  if (places <= lanes) return;
  const Mask<T> second(places - lanes);
  second.store(to + lanes, second.load(to + lanes) + __builtin_shuffle(values, none, high));
}

template void add_lines(int64_t, int64_t, const float*, int64_t, float*, int64_t);
template void add_to_every_second(int64_t, const float*, float*);
template void add_to_every_second(int64_t, const double*, double*);
template void add_lines(int64_t, int64_t, const double*, int64_t, double*, int64_t);

}  // namespace flambeau::cpu::FLAMBEAU_ISA
