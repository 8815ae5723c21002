#include "core/geometry/shape_rules.h"

#include "core/base/checked.h"
#include "core/geometry/broadcast.h"

namespace flambeau::shape_rules {

Shape wrap_dims(std::optional<IntList> dims, int64_t rank, const char* op) {
  check(rank <= kMaxDims, ErrorKind::runtime, op, "(): at most ", kMaxDims, " dimensions, got ",
        rank);
  Shape result;
  if (!dims || dims->empty()) {
    for (int64_t d = 0; d < rank; ++d) result.push_back(d);
    return result;
  }
  uint64_t seen = 0;
  for (const int64_t dim : *dims) {
    const int64_t wrapped = wrap_dim(dim, rank, op);
    check(!(seen >> wrapped & 1), ErrorKind::runtime, op, "(): dim ", wrapped,
          " appears more than once in ", ShapeText{*dims});
    seen |= uint64_t{1} << wrapped;
    result.push_back(wrapped);
  }
  return result;
}

Shape reduced(IntList shape, std::optional<IntList> dims, bool keepdim, const char* op) {
  const int64_t rank = len(shape);
  uint64_t mask = 0;
  for (const int64_t dim : wrap_dims(dims, rank, op)) mask |= uint64_t{1} << dim;
  Shape result;
  for (int64_t d = 0; d < rank; ++d) {
    if (!(mask >> d & 1)) {
      result.push_back(shape[d]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

Shape swapped(IntList list, int64_t a, int64_t b, const char* op) {
  a = wrap_dim(a, len(list), op);
  b = wrap_dim(b, len(list), op);
  Shape result(list);
  if (!list.empty()) std::swap(result[a], result[b]);
  return result;
}

Shape broadcast(IntList a, IntList b, const char* op) { return broadcast_shapes(a, b, op); }

Shape permuted(IntList list, IntList dims, const char* op) {
  check(dims.size() == list.size(), ErrorKind::runtime, op, "(): argument dims has ", dims.size(),
        " entries, ", ShapeText{dims}, "; expected one for each of ", list.size(), " dimensions");
  Shape result;
  if (list.empty()) return result;
  for (const int64_t dim : wrap_dims(dims, len(list), op)) result.push_back(list[dim]);
  return result;
}

Shape inserted(IntList list, int64_t position, int64_t value, const char* op) {
  position = wrap_dim(position, len(list) + 1, op);
  Shape result(list);
  result.insert(static_cast<size_t>(position), value);
  return result;
}

Shape without(IntList list, int64_t position, const char* op) {
  position = wrap_dim(position, len(list), op);
  Shape result(list);
  if (!list.empty()) result.erase(static_cast<size_t>(position));
  return result;
}

Shape replaced(IntList list, int64_t position, int64_t value, const char* op) {
  position = wrap_dim(position, len(list), op);
  Shape result(list);
  if (!list.empty()) result[position] = value;
  return result;
}

namespace {
/// Parameter `name` at spatial dim d; a list of one holds for every dim.
int64_t parameter(IntList list, size_t d, size_t rank, const char* name, const char* op) {
  check(list.size() == rank || list.size() == 1, ErrorKind::runtime, op, "(): argument ", name,
        " has ", list.size(), " entries, ", ShapeText{list}, "; expected ", rank,
        " (one for each spatial dimension) or 1");
  return list.size() == 1 ? list[0] : list[d];
}

struct Window {
  int64_t kernel, stride, padding, dilation;
  const char* op;
  /// Places from the first to the last element.
  int64_t extent() const { return checked_add(checked_mul(dilation, kernel - 1, op), 1, op); }
  int64_t padded(int64_t size) const { return checked_add(size, checked_mul(2, padding, op), op); }
};
Window window_at(size_t d, size_t rank, IntList kernel, IntList stride, IntList padding,
                 IntList dilation, const char* op) {
  const Window window{
      parameter(kernel, d, rank, "kernel_size", op), parameter(stride, d, rank, "stride", op),
      parameter(padding, d, rank, "padding", op), parameter(dilation, d, rank, "dilation", op), op};
  check(window.kernel > 0, ErrorKind::runtime, op,
        "(): argument kernel_size must be positive, got ", ShapeText{kernel});
  check(window.stride > 0, ErrorKind::runtime, op, "(): argument stride must be positive, got ",
        ShapeText{stride});
  check(window.padding >= 0, ErrorKind::runtime, op,
        ": argument padding must not be negative, got ", ShapeText{padding});
  check(window.dilation > 0, ErrorKind::runtime, op, "(): argument dilation must be positive, got ",
        ShapeText{dilation});
  return window;
}
}  // namespace

Shape conv_out(IntList spatial, IntList kernel, IntList stride, IntList padding, IntList dilation,
               const char* op) {
  Shape result;
  for (size_t d = 0; d < spatial.size(); ++d) {
    const Window window = window_at(d, spatial.size(), kernel, stride, padding, dilation, op);
    const int64_t padded = window.padded(spatial[d]);
    check(padded >= window.extent(), ErrorKind::runtime, op, "(): the kernel, ", window.extent(),
          " long with its dilation, does not fit the padded input of ", padded,
          " at spatial dimension ", d, " (input ", ShapeText{spatial}, ", kernel ",
          ShapeText{kernel}, ")");
    result.push_back((padded - window.extent()) / window.stride + 1);
  }
  return result;
}

Shape conv_transpose_out(IntList spatial, IntList kernel, IntList stride, IntList padding,
                         IntList output_padding, IntList dilation, const char* op) {
  Shape result;
  for (size_t d = 0; d < spatial.size(); ++d) {
    const Window window = window_at(d, spatial.size(), kernel, stride, padding, dilation, op);
    const int64_t extra = parameter(output_padding, d, spatial.size(), "output_padding", op);
    check(extra >= 0 && (extra < window.stride || extra < window.dilation), ErrorKind::runtime, op,
          ": argument output_padding must not be negative and must be smaller than stride or "
          "dilation, got ",
          ShapeText{output_padding}, " with stride ", ShapeText{stride}, " and dilation ",
          ShapeText{dilation});
    const int64_t size = checked_add(checked_sub(checked_mul(spatial[d] - 1, window.stride, op),
                                                 checked_mul(2, window.padding, op), op),
                                     checked_add(window.extent(), extra, op), op);
    check(size > 0, ErrorKind::runtime, op, "(): the output would have size ", size,
          " at spatial dimension ", d, " (input ", ShapeText{spatial}, ", kernel ",
          ShapeText{kernel}, ", padding ", ShapeText{padding}, ")");
    result.push_back(size);
  }
  return result;
}

Shape pooled_strides(IntList shape, IntList input, IntList strides) {
  const bool is_so = shape.size() == input.size() && is_channels_last(input, strides);
  return is_so ? channels_last_strides(shape) : contiguous_strides(shape);
}

Shape pool_out(IntList spatial, IntList kernel, IntList stride, IntList padding, IntList dilation,
               bool ceil_mode, const char* op) {
  if (stride.empty()) stride = kernel;
  Shape result;
  for (size_t d = 0; d < spatial.size(); ++d) {
    const Window window = window_at(d, spatial.size(), kernel, stride, padding, dilation, op);
    check(window.padding <= window.kernel / 2, ErrorKind::runtime, op, "(): argument padding ",
          ShapeText{padding}, " must be at most half of the kernel ", ShapeText{kernel});
    const int64_t room = checked_sub(window.padded(spatial[d]), window.extent(), op);
    const int64_t up = ceil_mode ? window.stride - 1 : 0;
    int64_t size = floor_div(checked_add(room, up, op), window.stride, op) + 1;
    // The last window must begin inside the input or its left padding.
    if (ceil_mode && checked_mul(size - 1, window.stride, op) >= spatial[d] + window.padding)
      --size;
    check(size > 0, ErrorKind::runtime, op, "(): the kernel ", ShapeText{kernel},
          " does not fit the input ", ShapeText{spatial}, " with padding ", ShapeText{padding},
          " at spatial dimension ", d);
    result.push_back(size);
  }
  return result;
}

int64_t at(IntList list, int64_t position, const char* op) {
  check(position >= -len(list) && position < len(list), ErrorKind::index, op, "(): index ",
        position, " is out of range for ", ShapeText{list});
  return list[position < 0 ? position + len(list) : position];
}

Shape slice(IntList list, std::optional<int64_t> start, std::optional<int64_t> stop) {
  const int64_t length = len(list);
  const auto clamp = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + length : i, 0, length);
  };
  const int64_t begin = start ? clamp(*start) : 0, end = stop ? clamp(*stop) : length;
  return begin < end ? Shape(list.subspan(begin, end - begin)) : Shape();
}

Shape concatenated(IntList a, IntList b) {
  Shape result(a);
  for (const int64_t value : b) result.push_back(value);
  return result;
}

Shape repeated(IntList list, int64_t count) {
  Shape result;
  for (int64_t i = 0; i < count; ++i)
    for (const int64_t value : list) result.push_back(value);
  return result;
}

int64_t floor_div(int64_t a, int64_t b, const char* op) {
  check(b != 0, ErrorKind::runtime, op, "(): division of the size ", a, " by zero");
  if (b == -1) return checked_sub(0, a, op);
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t floor_mod(int64_t a, int64_t b, const char* op) {
  check(b != 0, ErrorKind::runtime, op, "(): division of the size ", a, " by zero");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace flambeau::shape_rules
