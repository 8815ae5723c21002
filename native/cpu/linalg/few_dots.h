#pragma once

#include "cpu/linalg/few_lines.h"
#include "cpu/linalg/scratch.h"
#include "cpu/linalg/strided_lines.h"

// Few lines with many: every line is read once. Include only from *.simd.cpp files.

namespace flambeau::cpu::FLAMBEAU_ISA {

/// Products of some of the few with some of the many add up in half of the registers.
template <class Form>
class FewDots {
  using Element = typename Form::Element;
  using Packed = typename Form::Packed;
  using S = Sum<Packed>;
  static constexpr int64_t kVector = kLanes<Packed>, kSums = kLanes<float>;
  static constexpr int64_t kSteps = kVector * Form::kSteps;  // of the depth in a vector

  static constexpr int64_t kRows = kSums < 16 ? 4 : 8;  // of the few, multiplied at a time

 public:
  explicit FewDots(const FewLines<Element>& call)
      : call_(call),
        elements_((call.depth + kSteps - 1) / kSteps * kVector),
        few_(scratch<Packed>(0, static_cast<size_t>((call.few + kRows) * elements_))) {
    const StridedLines<Element> lines{call.left, call.left_line, call.left_step, call.few,
                                      call.depth};
    for (int64_t i = 0; i < call.few + kRows; ++i)
      for (int64_t e = 0; e < elements_; e += kVector)
        store(few_ + i * elements_ + e,
              i < call.few ? elements_of_line<Form>(lines, i, e * Form::kSteps) : Vector<Packed>{});
  }

  void run() const {
    const int64_t bytes = std::max<int64_t>(call_.depth * static_cast<int64_t>(sizeof(Element)), 1);
    const int64_t block = std::clamp<int64_t>(kBlockBytes / bytes, 1, kMostLines / 16) * 16;
    for (int64_t j = 0; j < call_.many; j += block)
      for (int64_t i = 0; i < call_.few; i += kRows)
        run_block(i, j, std::min(block, call_.many - j));
  }

 private:
  static constexpr int64_t kPart = 4096 / sizeof(Packed);  // of a line: kRows such stay in L1
  static constexpr int64_t kBlockBytes = 32 << 10;  // a sixteenth of the many that stay in L2
  static constexpr int64_t kMostLines = 1024;

  void run_block(int64_t i, int64_t j, int64_t count) const {
    const int64_t rows = std::min(kRows, call_.few - i);
    if constexpr (kRows > 4)
      if (rows > 4) return run_rows<8>(i, j, count);
    if (rows > 2) return run_rows<4>(i, j, count);
    if (rows > 1) return run_rows<2>(i, j, count);
    run_rows<1>(i, j, count);
  }

  /// `count` of the many, from j on, with some of the few: their depth in parts.
  template <int rows>
  void run_rows(int64_t i, int64_t j, int64_t count) const {
    constexpr int64_t columns = kSums / rows;
    S* const kept = scratch<S>(1, static_cast<size_t>((kMostLines + kSums) * rows));
    for (int64_t from = 0; from == 0 || from < elements_; from += kPart)
      for (int64_t q = 0; q < count; q += columns) {
        S* const sums = kept + q * rows;
        dots<rows>(i, j + q, from, sums);
        if (from + kPart >= elements_) write<rows>(i, j + q, std::min(columns, count - q), sums);
      }
  }

  /// Sums of products of the depth up to the end of a part: number r * columns + c is of row r and
  /// column c.
  template <int rows>
  [[gnu::always_inline]] void dots(int64_t i, int64_t j, int64_t from, S* sums) const {
    constexpr int columns = static_cast<int>(kSums) / rows;
    const Element* lines[columns];
    for (int c = 0; c < columns; ++c)
      lines[c] = call_.right + std::min(j + c, call_.many - 1) * call_.right_line;
    const int64_t next = columns * call_.right_line;
    Vector<S> sum[kSums] = {};
    const Packed* left = few_ + i * elements_ + from;
    const auto add = [&](const auto& read) {
      Vector<Packed> line[columns];
#pragma GCC unroll 16
      for (int c = 0; c < columns; ++c) line[c] = read(lines[c]);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const Vector<Packed> row = load_once(left + r * elements_);
#pragma GCC unroll 16
        for (int c = 0; c < columns; ++c) {
          Vector<S>& one = sum[r * columns + c];
          one = multiply_add<Packed>(row, line[c], one);
        }
      }
      left += kVector;
    };
    const int64_t depth = std::min(call_.depth, (from + kPart) * Form::kSteps);
    int64_t p = from * Form::kSteps;
    for (; p + kSteps <= depth; p += kSteps)
      add([&](const Element* line) {
        __builtin_prefetch(line + next + p, 0, 3);
        return Form::along(line + p);
      });
    if (p < depth)
      add([&](const Element* line) { return elements_along<Form>(line + p, depth - p); });
#pragma GCC unroll 4
    for (int64_t v = 0; v < kSums; v += kVector) {
      const Vector<S> total =
          across_lanes<S>(sum + v, [](Vector<S> a, Vector<S> b) { return a + b; });
      store(sums + v, from > 0 ? total + load(sums + v) : total);
    }
  }

  template <int rows>
  void write(int64_t i, int64_t j, int64_t columns, const S* sums) const {
    for (int64_t r = 0; r < rows && i + r < call_.few; ++r)
      for (int64_t c = 0; c < columns; ++c) call_.write(i + r, j + c, sums[r * (kSums / rows) + c]);
  }

  const FewLines<Element>& call_;
  int64_t elements_;  // of a packed line
  Packed* few_;
};

template <class Form>
void dot_lines(const FewLines<typename Form::Element>& call) {
  FewDots<Form>(call).run();
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
