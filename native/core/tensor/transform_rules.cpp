#include "core/tensor/transform_rules.h"

#include <algorithm>
#include <cmath>

#include "core/base/checked.h"

namespace flambeau::shape_rules {

Shape placed(IntList items, IntList positions, IntList values, const char* op) {
  check(positions.size() == values.size(), ErrorKind::runtime, op,
        "(): expected a size for each of ", positions.size(), " dims, got ", values.size());
  Shape result(items);
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t place = wrap(positions[i], static_cast<int64_t>(items.size()), op);
    check(!items.empty(), ErrorKind::index, op, "(): there is no dim ", place,
          " where there is none");
    result[static_cast<size_t>(place)] = values[i];
  }
  return result;
}

Shape fft_dims(int64_t rank, const std::optional<IntList>& sizes,
               const std::optional<IntList>& dims, const char* op) {
  check(!sizes || !dims || sizes->size() == dims->size(), ErrorKind::runtime, op,
        "(): expected as many dims as sizes, got dim of ", dims ? dims->size() : 0, " and s of ",
        sizes ? sizes->size() : 0);
  if (dims) {
    Shape result;
    for (int64_t dim : *dims) result.push_back(wrap(dim, rank, op));
    return result;
  }
  const int64_t count = sizes ? static_cast<int64_t>(sizes->size()) : rank;
  check(count <= rank, ErrorKind::runtime, op, "(): expected at most ", rank, " sizes, got ",
        count);
  Shape result;
  for (int64_t i = rank - count; i < rank; ++i) result.push_back(i);
  return result;
}

Shape fft_sizes(IntList shape, const std::optional<IntList>& sizes, IntList dims, const char* op) {
  Shape result;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_given = sizes && (*sizes)[i] != -1;
    const int64_t size = is_given ? (*sizes)[i] : shape[static_cast<size_t>(dims[i])];
    check(size >= 1, ErrorKind::runtime, op, "(): invalid number of data points (", size,
          ") specified");
    result.push_back(size);
  }
  return result;
}

Shape fft_order(IntList strides, IntList dims, bool keeps_last) {
  Shape result;
  const auto add = [&](const auto& is_wanted) {
    const auto begin = static_cast<std::ptrdiff_t>(result.size());
    for (int64_t d = 0; d < static_cast<int64_t>(strides.size()); ++d)
      if (is_wanted(d)) result.push_back(d);
    std::stable_sort(result.begin() + begin, result.end(), [&](int64_t a, int64_t b) {
      return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
    });
  };
  const auto is_transformed = [&](int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  const int64_t last = keeps_last && !dims.empty() ? dims.back() : -1;
  add([&](int64_t d) { return !is_transformed(d); });
  add([&](int64_t d) { return is_transformed(d) && d != last; });
  if (last >= 0) result.push_back(last);
  return result;
}

Shape nested_strides(IntList shape, IntList order, const char* op) {
  Shape result(shape.size(), 0);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(wrap(order[i], static_cast<int64_t>(shape.size()), op));
    int64_t& stride = result[dim];
    check(stride == 0, ErrorKind::runtime, op, "(): order names a dim twice: ", Shape(order));
    stride = step;
    step = checked_mul(step, std::max<int64_t>(shape[dim], 1), op);
  }
  check(order.size() == shape.size(), ErrorKind::runtime, op, "(): expected an order of ",
        shape.size(), " dims, got ", Shape(order));
  return result;
}

double fft_scale(const std::optional<std::string_view>& norm, int64_t n, bool forward) {
  if (norm == "ortho") return 1 / std::sqrt(static_cast<double>(n));
  return (norm == "forward") == forward ? 1 / static_cast<double>(n) : 1;
}

}  // namespace flambeau::shape_rules
