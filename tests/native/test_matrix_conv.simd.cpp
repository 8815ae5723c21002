// Convolutions in registers that hold matrices, emulated, against plain loops in double: filters in
// any order of taps, ends of rows that are left, panels and steps that are not full.

#include <cmath>
#include <vector>

#include "check.h"
#include "cpu/nn/matrix_conv_kernel.h"
#include "cpu/nn/matrix_grad_kernel.h"
#include "cpu/nn/matrix_pixel_kernel.h"
#include "draws.h"
#include "emulated_registers.h"

namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

#ifdef __AVX512F__
using testing::between;

std::vector<bfloat16> random_halves(int64_t count) {
  std::vector<bfloat16> values;
  for (const float value : testing::random_values<float>(count)) values.push_back(bfloat16(value));
  return values;
}
double wide(bfloat16 value) { return static_cast<double>(static_cast<float>(value)); }

void check_near(double seen, double expected, double size, double rounding) {
  CHECK(std::abs(seen - expected) <= rounding * std::abs(expected) + 1e-5 * size + 1e-6);
}

constexpr double kHalf = 1.0 / 256;

enum class Order { channels, outputs, taps_of_channels, taps_of_outputs };

/// Filters in memory: taps, then channels, then outputs from the innermost on, or as `order` says.
struct Filters {
  int64_t outputs, channels, kernel;
  std::vector<int64_t> taps;
  Order order;

  int64_t count() const { return static_cast<int64_t>(taps.size()); }
  int64_t row() const {
    if (order == Order::taps_of_outputs) return 1;
    return order == Order::outputs ? kernel : channels * kernel;
  }
  int64_t major() const {
    if (order == Order::taps_of_channels) return 1;
    return order == Order::channels ? kernel : outputs * kernel;
  }
  std::vector<int64_t> places() const {
    std::vector<int64_t> found;
    for (const int64_t tap : taps)
      found.push_back(order == Order::taps_of_channels  ? tap * channels
                      : order == Order::taps_of_outputs ? tap * outputs
                                                        : tap);
    return found;
  }
  int64_t blocks() const { return (channels + 31) / 32; }
  std::vector<Bfloat16Pair> packed() const {
    return std::vector<Bfloat16Pair>(static_cast<size_t>(blocks() * count() * 2 * kMatrix), ~0u);
  }
};

/// Calls body(filters, data, places) for some shapes.
template <class Body>
void over_filters(const Body& body) {
  for (const Order order :
       {Order::channels, Order::outputs, Order::taps_of_channels, Order::taps_of_outputs})
    for (const auto& [outputs, channels] :
         {std::pair<int64_t, int64_t>{1, 1}, {17, 16}, {32, 33}, {40, 64}, {70, 45}})
      for (const auto& [kernel, taps] : {std::pair<int64_t, std::vector<int64_t>>{1, {0}},
                                         {9, {8, 7, 6, 5, 4, 3, 2, 1, 0}},
                                         {9, {1, 7}},
                                         {40, {39, 0, 13}}}) {
        const Filters filters{outputs, channels, kernel, taps, order};
        body(filters, random_halves(outputs * channels * kernel), filters.places());
      }
}

TEST(planes_of_pairs) {
  over_filters([](const Filters& f, const std::vector<bfloat16>& data,
                  const std::vector<int64_t>& places) {
    const int64_t positions = between(1, 70), reach = 9, plane = positions + reach + 32;
    std::vector<bfloat16> source = random_halves(f.blocks() * 32 * plane);
    std::fill(source.begin() + f.channels * plane, source.end(), bfloat16(0));
    std::vector<Bfloat16Pair> pairs;
    for (int64_t c = 0; c < f.blocks() * 32; c += 2)
      for (int64_t q = 0; q < plane; ++q)
        pairs.push_back(source[static_cast<size_t>(c * plane + q)].bits |
                        static_cast<uint32_t>(source[static_cast<size_t>((c + 1) * plane + q)].bits)
                            << 16);
    std::vector<int64_t> shifts, offsets;
    for (int64_t t = 0; t < f.count(); ++t) shifts.push_back(between(0, reach));
    for (int64_t b = 0; b < f.blocks(); ++b)
      for (const int64_t shift : shifts) offsets.push_back(b * kMatrixPairs * plane + shift);
    std::vector<Bfloat16Pair> packed = f.packed();
    const int64_t step = (positions + 31) / 32 * 32;
    std::vector<float> sums(static_cast<size_t>(kMatrixOutputs * step));
    for (int64_t k = 0; k < f.outputs; k += kMatrixOutputs) {
      pack_matrix_filters(
          {data.data(), f.outputs, f.row(), f.channels, f.major(), f.count(), places.data()},
          k / kMatrixOutputs, packed.data());
      forward_matrices<EmulatedRegisters>({static_cast<int64_t>(offsets.size()), positions,
                                           packed.data(), offsets.data(), pairs.data(), plane,
                                           sums.data(), step});
      const int64_t outputs = std::min(kMatrixOutputs, f.outputs - k);
      for (int64_t i = 0; i < outputs; ++i) {
        const float shift = i % 2 ? 0.5f : 0;
        const int64_t apart = i % 3 + 1;
        std::vector<bfloat16> row(static_cast<size_t>(positions * apart + 1), bfloat16(77));
        finish_matrix_row(sums.data() + i * step, shift, positions, row.data(), apart);
        for (size_t q = 0; q < row.size(); ++q)
          CHECK(wide(row[q]) == 77 || (q % static_cast<size_t>(apart) == 0 && q + 1 < row.size()));
        for (int64_t q = 0; q < positions; ++q) {
          double expected = shift, size = 0;
          for (int64_t c = 0; c < f.channels; ++c)
            for (size_t t = 0; t < shifts.size(); ++t) {
              const int64_t at = (k + i) * f.row() + c * f.major() + places[t];
              const double product = wide(data[static_cast<size_t>(at)]) *
                                     wide(source[static_cast<size_t>(c * plane + q + shifts[t])]);
              expected += product;
              size += std::abs(product);
            }
          check_near(wide(row[static_cast<size_t>(q * apart)]), expected, size, kHalf);
        }
      }
      if (flambeau::testing::failures > 10) return;
    }
  });
}

TEST(pixels) {
  over_filters([](const Filters& f, const std::vector<bfloat16>& data,
                  const std::vector<int64_t>& places) {
    const int64_t rows = between(1, 4), columns = between(1, 20), pitch = columns + between(0, 3);
    const int64_t reach = 5, pixel = f.blocks() * 32;
    const int64_t pixels = rows * pitch + reach + 32;
    std::vector<bfloat16> source = random_halves(pixels * pixel);
    std::vector<int64_t> shifts, offsets;
    for (int64_t t = 0; t < f.count(); ++t) shifts.push_back(between(0, reach));
    for (int64_t b = 0; b < f.blocks(); ++b)
      for (const int64_t shift : shifts) offsets.push_back(shift * pixel + 32 * b);
    std::vector<Bfloat16Pair> packed = f.packed();
    const int64_t step = f.outputs + 1, row_step = (columns + 2) * step;
    std::vector<bfloat16> result(static_cast<size_t>(rows * row_step), bfloat16(77));
    const std::vector<bfloat16> bias = random_halves(f.outputs);
    const bool has_bias = between(0, 1) == 1;
    for (int64_t k = 0; k < f.outputs; k += kMatrixOutputs) {
      pack_turned_filters(
          {data.data(), f.outputs, f.row(), f.channels, f.major(), f.count(), places.data()},
          k / kMatrixOutputs, packed.data());
      forward_matrix_pixels<EmulatedRegisters>(
          {static_cast<int64_t>(offsets.size()), rows, columns, pitch, packed.data(),
           offsets.data(), source.data(), pixel, std::min(kMatrixOutputs, f.outputs - k),
           has_bias ? bias.data() + k : nullptr, result.data() + k, row_step, step});
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns + 2; ++j)
        for (int64_t k = 0; k < step; ++k) {
          const double seen = wide(result[static_cast<size_t>(i * row_step + j * step + k)]);
          if (j >= columns || k == f.outputs) {
            CHECK(seen == 77);  // not written
            continue;
          }
          double expected = has_bias ? wide(bias[static_cast<size_t>(k)]) : 0, size = 0;
          for (int64_t c = 0; c < f.channels; ++c)
            for (size_t t = 0; t < shifts.size(); ++t) {
              const int64_t place = (i * pitch + j + shifts[t]) * pixel + c;
              const double product =
                  wide(data[static_cast<size_t>(k * f.row() + c * f.major() + places[t])]) *
                  wide(source[static_cast<size_t>(place)]);
              expected += product;
              size += std::abs(product);
            }
          check_near(seen, expected, size, kHalf);
          if (flambeau::testing::failures > 10) return;
        }
  });
}

TEST(gradients_of_filters) {
  for (const int64_t taps : {1, 4, 9, 32})
    for (const auto& [channels, outputs] :
         {std::pair<int64_t, int64_t>{1, 1}, {16, 32}, {32, 16}, {31, 17}, {32, 32}}) {
      const int64_t steps = between(1, 5), reach = 7, plane = steps * 32 + reach;
      const std::vector<bfloat16> source = random_halves(32 * plane);
      const std::vector<bfloat16> grads = random_halves(outputs * steps * 32);
      std::vector<int64_t> places, offsets;
      for (int64_t i = 0; i < steps; ++i) places.push_back((steps - 1 - i) * 32);
      for (int64_t t = 0; t < taps; ++t) offsets.push_back(between(0, reach));
      std::vector<Bfloat16Pair> packed(static_cast<size_t>(steps * 2 * 256));
      pack_matrix_grads(grads.data(), steps * 32, outputs, steps, packed.data());
      std::vector<float> sums(static_cast<size_t>(taps * 32 * 32), 77.0f);
      for (const bool adds : {false, true})
        add_matrix_products<EmulatedRegisters>({steps, taps, places.data(), offsets.data(),
                                                source.data(), plane, packed.data(), sums.data(),
                                                adds});
      const int64_t row = channels * taps + 3;
      std::vector<bfloat16> result(static_cast<size_t>(outputs * row), bfloat16(77));
      CHECK(finish_matrix_grads({channels, outputs, taps, sums.data(), result.data(), row}));
      for (int64_t k = 0; k < outputs; ++k)
        for (int64_t place = 0; place < row; ++place) {
          const double seen = wide(result[static_cast<size_t>(k * row + place)]);
          if (place >= channels * taps) {
            CHECK(seen == 77);
            continue;
          }
          double expected = 0, size = 0;
          for (int64_t q = 0; q < steps * 32; ++q) {
            const int64_t at = places[static_cast<size_t>(q / 32)] + q % 32 +
                               offsets[static_cast<size_t>(place % taps)];
            const double product = 2 * wide(grads[static_cast<size_t>(k * steps * 32 + q)]) *
                                   wide(source[static_cast<size_t>(place / taps * plane + at)]);
            expected += product;
            size += std::abs(product);
          }
          check_near(seen, expected, size, kHalf);
        }
      // What is not finite is told; sums of channels that there are not have no say.
      sums[static_cast<size_t>(((taps - 1) * 32 + channels - 1) * 32 + outputs - 1)] = INFINITY;
      CHECK(!finish_matrix_grads({channels, outputs, taps, sums.data(), result.data(), row}));
      if (channels > 1)
        CHECK(finish_matrix_grads({channels - 1, outputs, taps, sums.data(), result.data(), row}));
    }
}
#else
TEST(other_processors_have_none) { CHECK(find_matrix_conv_kernels() == nullptr); }
#endif

}  // namespace
}  // namespace flambeau::cpu::FLAMBEAU_ISA
