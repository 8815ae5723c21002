#include "cpu/nn/channel_filters.h"

#include "cpu/linalg/vector.h"

// A filter for each channel of channels-last images: vectors of channels.

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr int kTogether = 4;  // pixels that share a tap's weights

/// Whether the `count` pixels from i on meet the source through the same taps.
bool meet_alike(const TapTable& table, int64_t i, int64_t count) {
  const int64_t* const begins = table.begins.data() + i;
  const int64_t taps = begins[1] - begins[0];
  const TapTable::Meeting* const first = table.meetings.data() + begins[0];
  for (int64_t j = 0; j < count; ++j) {
    if (begins[j + 1] - begins[j] != taps) return false;
    const TapTable::Meeting* const next = table.meetings.data() + begins[j];
    for (int64_t t = 0; t < taps; ++t)
      if (next[t].tap != first[t].tap) return false;
  }
  return true;
}

/// Channels that are filtered together.
struct ChannelRange {
  int64_t begin, end;
};

/// `count` pixels of a row of results, from column x on, which meet source pixels alike, or slide.
template <class T, int count>
class Together {
 public:
  Together(const ChannelFilter<T>& call, const ChannelRange& range, int64_t row, int64_t x)
      : call_(call),
        range_(range),
        rows_(*call.rows),
        source_(call.source +
                row / call.result_rows * call.source_rows * call.source_columns * call.channels),
        result_(call.result + (row * call.result_columns + x) * call.channels),
        row_begin_(rows_.begins.data() + row % call.result_rows),
        column_(x),
        begins_(call.columns->begins.data() + x),
        taps_(begins_[1] - begins_[0]) {
    for (int j = 0; j < count; ++j) met_[j] = call.columns->meetings.data() + begins_[j];
  }

  /// Of rows whose `taps` taps slide.
  template <int taps>
  void slide() const {
    // Sums that do not wait for each other, as far as there are registers.
    constexpr int wide = taps == 3 || kVectorBytes == 64 ? 2 : 1, lanes = kLanes<T>;
    int64_t c = range_.begin;
    const int64_t first = column_ + call_.sliding.first;
    const bool inside = first >= 0 && first + taps + count - 1 <= call_.source_columns;
    for (; c + wide * lanes <= range_.end; c += wide * lanes)
      inside ? neighbours<taps, wide, true>(c) : neighbours<taps, wide, false>(c);
    for (; c + lanes <= range_.end; c += lanes) neighbours<taps, 1, false>(c);
    for (; c < range_.end; ++c) element(c);
  }

  void run() const {
    constexpr int lanes = kLanes<T>;
    constexpr int wide = count == 1 ? 6 : 2;  // sums that do not wait for each other
    int64_t c = range_.begin;
    for (; c + wide * lanes <= range_.end; c += wide * lanes) vectors<wide>(c);
    for (; c + 2 * lanes <= range_.end; c += 2 * lanes) vectors<2>(c);
    for (; c + lanes <= range_.end; c += lanes) vectors<1>(c);
    for (; c < range_.end; ++c) element(c);
  }

 private:
  /// meet(line, weights, t): the source's line and the weights of a row of taps.
  template <class Meet>
  void over_rows(const Meet& meet) const {
    const int64_t channels = call_.channels;
    for (int64_t r = row_begin_[0]; r < row_begin_[1]; ++r) {
      const TapTable::Meeting& row = rows_.meetings[static_cast<size_t>(r)];
      meet(source_ + row.place * call_.source_columns * channels,
           call_.weights + row.tap * call_.row_taps * channels);
    }
  }

  /// The results of some vectors of channels: the bias, and what add(line, weights, sums) adds for
  /// each row of taps.
  template <int wide, class Add>
  [[gnu::always_inline]] void add_rows(int64_t c, const Add& add) const {
    constexpr int lanes = kLanes<T>;
    Vector<T> sums[count][wide];
#pragma GCC unroll 4
    for (int j = 0; j < count; ++j)
#pragma GCC unroll 6
      for (int k = 0; k < wide; ++k)
        sums[j][k] = call_.bias ? load(call_.bias + c + k * lanes) : Vector<T>{};
    over_rows([&](const T* line, const T* weights) { add(line, weights, sums); });
#pragma GCC unroll 4
    for (int j = 0; j < count; ++j)
#pragma GCC unroll 6
      for (int k = 0; k < wide; ++k)
        store(result_ + j * call_.channels + c + k * lanes, sums[j][k]);
  }

  /// `inside`: the source has all that they meet.
  template <int taps, int wide, bool inside>
  [[gnu::always_inline]] void neighbours(int64_t c) const {
    constexpr int lanes = kLanes<T>;
    const SlidingTaps& sliding = call_.sliding;
    const int64_t channels = call_.channels, first = column_ + sliding.first;
    const int64_t tap = sliding.turned ? -channels : channels;
    const int64_t weight_begin = c + (sliding.turned ? (taps - 1) * channels : 0);
    add_rows<wide>(c, [&](const T* line, const T* weights, Vector<T>(&sums)[count][wide]) {
      Vector<T> weight[taps][wide];
#pragma GCC unroll 7
      for (int t = 0; t < taps; ++t)
#pragma GCC unroll 2
        for (int k = 0; k < wide; ++k)
          weight[t][k] = load(weights + weight_begin + t * tap + k * lanes);
#pragma GCC unroll 10
      for (int u = 0; u < taps + count - 1; ++u) {
        const int64_t place = first + u;
        if (!inside && (place < 0 || place >= call_.source_columns)) continue;
#pragma GCC unroll 2
        for (int k = 0; k < wide; ++k) {
          const Vector<T> value = load_once(line + place * channels + c + k * lanes);
#pragma GCC unroll 4
          for (int j = 0; j < count; ++j)
            if (u >= j && u - j < taps)
              sums[j][k] = multiply_add<T>(weight[u - j][k], value, sums[j][k]);
        }
      }
    });
  }

  template <int wide>
  [[gnu::always_inline]] void vectors(int64_t c) const {
    constexpr int lanes = kLanes<T>;
    add_rows<wide>(c, [&](const T* line, const T* weights, Vector<T>(&sums)[count][wide]) {
      for (int64_t t = 0; t < taps_; ++t) {
        const T* const from = weights + met_[0][t].tap * call_.channels + c;
        Vector<T> weight[wide];
#pragma GCC unroll 6
        for (int k = 0; k < wide; ++k) weight[k] = load(from + k * lanes);
#pragma GCC unroll 4
        for (int j = 0; j < count; ++j) {
          const T* const pixel = line + met_[j][t].place * call_.channels + c;
#pragma GCC unroll 6
          for (int k = 0; k < wide; ++k)
            sums[j][k] = multiply_add<T>(weight[k], load(pixel + k * lanes), sums[j][k]);
        }
      }
    });
  }

  void element(int64_t c) const {
    for (int j = 0; j < count; ++j) {
      T sum = call_.bias ? call_.bias[c] : T(0);
      over_rows([&](const T* line, const T* weights) {
        for (int64_t t = 0; t < begins_[j + 1] - begins_[j]; ++t)
          sum += weights[met_[j][t].tap * call_.channels + c] *
                 line[met_[j][t].place * call_.channels + c];
      });
      result_[j * call_.channels + c] = sum;
    }
  }

  const ChannelFilter<T>& call_;
  const ChannelRange range_;
  const TapTable& rows_;
  const T* source_;
  T* result_;
  const int64_t* row_begin_;
  int64_t column_;
  const int64_t* begins_;  // of what each pixel meets
  int64_t taps_;           // of the first
  const TapTable::Meeting* met_[count];
};

constexpr int64_t kNearBytes = 16 << 10;  // half of L1: of filters, and of what some pixels meet

/// So many channels that their filters, and what `kTogether` pixels meet, stay near along a row.
template <class T>
int64_t channels_together(const ChannelFilter<T>& call) {
  constexpr int64_t step = 2 * kLanes<T>;
  const auto most = [](const TapTable& table) {
    int64_t taps = 1;
    for (size_t i = 1; i < table.begins.size(); ++i)
      taps = std::max(taps, table.begins[i] - table.begins[i - 1]);
    return taps;
  };
  const int64_t rows = most(*call.rows), columns = most(*call.columns);
  const int64_t elements = rows * columns + rows * (columns + kTogether - 1);
  return std::max(kNearBytes / static_cast<int64_t>(sizeof(T)) / elements / step * step, step);
}

/// Channels of one row of results; `alike`: whether pixels from each column on are.
template <class T>
void filter_row(const ChannelFilter<T>& call, const std::vector<bool>& alike,
                const ChannelRange& channels, int64_t row) {
  for (int64_t x = 0; x < call.result_columns;) {
    if (alike[static_cast<size_t>(x)]) {
      Together<T, kTogether>(call, channels, row, x).run();
      x += kTogether;
    } else {
      Together<T, 1>(call, channels, row, x++).run();
    }
  }
}

/// The same where `taps` taps slide along at least `kTogether` results: the last begin earlier.
template <class T, int taps>
void slide_along(const ChannelFilter<T>& call, const ChannelRange& channels, int64_t row) {
  const int64_t last = call.result_columns - kTogether;
  for (int64_t x = 0; x < call.result_columns; x += kTogether)
    Together<T, kTogether>(call, channels, row, std::min(x, last)).template slide<taps>();
}

template <class T>
void filter(const ChannelFilter<T>& call, int64_t begin, int64_t end) {
  std::vector<bool> alike(static_cast<size_t>(call.result_columns));
  for (int64_t x = 0; x + kTogether <= call.result_columns; ++x)
    alike[static_cast<size_t>(x)] = meet_alike(*call.columns, x, kTogether);
  const int64_t together = channels_together(call);
  const int64_t taps = call.sliding.slide && call.result_columns >= kTogether ? call.row_taps : 0;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t c = 0; c < call.channels; c += together) {
      const ChannelRange channels{c, std::min(c + together, call.channels)};
      if (taps == 3)
        slide_along<T, 3>(call, channels, row);
      else if (taps == 5)
        slide_along<T, 5>(call, channels, row);
      else if (taps == 7)
        slide_along<T, 7>(call, channels, row);
      else
        filter_row(call, alike, channels, row);
    }
}

/// sums[c] += sum of source[i * step + c] grad[i * channels + c] over `count` pixels.
template <class T>
void add_products(int64_t count, int64_t channels, const T* source, int64_t step, const T* grad,
                  T* sums) {
  int64_t c = 0;
  for (; c + kLanes<T> <= channels; c += kLanes<T>) {
    Vector<T> sum[kTogether] = {};
    int64_t i = 0;
    for (; i + kTogether <= count; i += kTogether) {
#pragma GCC unroll 4
      for (int j = 0; j < kTogether; ++j)
        sum[j] = multiply_add<T>(load(source + (i + j) * step + c),
                                 load(grad + (i + j) * channels + c), sum[j]);
    }
    for (; i < count; ++i)
      sum[0] = multiply_add<T>(load(source + i * step + c), load(grad + i * channels + c), sum[0]);
    store(sums + c, load(sums + c) + ((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
  for (; c < channels; ++c)
    for (int64_t i = 0; i < count; ++i) sums[c] += source[i * step + c] * grad[i * channels + c];
}

template <class T>
void weights(const ChannelFilterGrad<T>& call, int64_t begin, int64_t end) {
  const auto& [rows, columns] = call.geometry->axes;
  const int64_t channels = call.channels;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / rows.output, i = row % rows.output;
    const T* const grad = call.grad + row * columns.output * channels;
    for (int64_t r = 0; r < rows.kernel; ++r) {
      const int64_t y = i * rows.stride - rows.padding + r * rows.dilation;
      if (y < 0 || y >= rows.input) continue;
      const T* const line = call.source + (image * rows.input + y) * columns.input * channels;
      for (int64_t s = 0; s < columns.kernel; ++s) {
        // Results whose tap meets the image: 0 <= j stride + shift < input.
        const int64_t shift = s * columns.dilation - columns.padding, step = columns.stride;
        const int64_t first = shift >= 0 ? 0 : (-shift + step - 1) / step;
        const int64_t room = columns.input - 1 - shift;
        const int64_t last = room < 0 ? 0 : std::min(room / step + 1, columns.output);
        if (first >= last) continue;
        add_products(last - first, channels, line + (first * step + shift) * channels,
                     step * channels, grad + first * channels,
                     call.weights + (r * columns.kernel + s) * channels);
      }
    }
  }
}

}  // namespace

template <class T>
const ChannelFilterKernels<T>& channel_filter_kernels() {
  static constexpr ChannelFilterKernels<T> kernels{&filter<T>, &weights<T>};
  return kernels;
}
template const ChannelFilterKernels<float>& channel_filter_kernels();
template const ChannelFilterKernels<double>& channel_filter_kernels();

}  // namespace flambeau::cpu::FLAMBEAU_ISA
