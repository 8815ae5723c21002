#include "map.h"

#include <cstdlib>

namespace flambeau::opencl {
namespace {

/// A number's bytes lie inside the iterator itself.
bool is_number(const Iterator& iter, int operand) {
  const char* begin = reinterpret_cast<const char*>(&iter);
  const char* data = iter.data(operand);
  return data >= begin && data < begin + sizeof(Iterator);
}

/// Every operand in memory steps by whole elements, from one to the next.
bool is_dense(const Iterator& iter) {
  if (iter.rank() != 1) return false;
  for (int i = 0; i < iter.operand_count(); ++i)
    if (!is_number(iter, i) &&
        iter.byte_stride(i, 0) != static_cast<int64_t>(size_of(iter.dtype(i))))
      return false;
  return true;
}

std::string define(const std::string& name, int operand, const std::string& text) {
  return "#define " + name + "_" + std::to_string(operand) + text + "\n";
}

/// How the source sees its operands. Strides of dense ones are constants, which compilers
/// vectorize.
std::string operands_text(const Iterator& iter, bool dense) {
  const int count = iter.operand_count();
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i), dtype = name(iter.dtype(i));
    if (is_number(iter, i)) {
      const std::string type = compute_type(iter.dtype(i));
      const bool is_bool = iter.dtype(i) == DType::bool_;  // which no argument may be
      text += define("OPERAND", i, " const " + (is_bool ? "uchar" : type) + " number" + number);
      text += define("LOAD", i, " ((" + type + ")number" + number + ")");
      continue;
    }
    const std::string place = dense ? "get_global_id(0) * " + std::to_string(size_of(iter.dtype(i)))
                                    : "places_[" + number + "]";
    const std::string at = "operand" + number + " + " + place;
    text += define("OPERAND", i, " global char* operand" + number);
    text += define("LOAD", i, " load_" + dtype + "(" + at + ")");
    text += define("LOAD_AT", i, "(bytes) load_" + dtype + "(" + at + " + (bytes))");
    text += define("STORE", i, "(value) store_" + dtype + "(" + at + ", value)");
    text +=
        define("STORE_AT", i, "(bytes, value) store_" + dtype + "(" + at + " + (bytes), value)");
  }
  if (dense) return text + "#define LAYOUT\n#define PLACES\n";
  const std::string rank = std::to_string(iter.rank()), operands = std::to_string(count);
  text += "typedef struct { long extents[" + rank + "], strides[" + operands + "][" + rank +
          "]; } Layout;\n#define LAYOUT , const Layout layout\n";
  text += "#define PLACES long places_[" + operands +
          "] = {0}; { long rest = get_global_id(0); for (int d = 0; d < " + rank +
          "; ++d) { const long at = d + 1 < " + rank +
          " ? rest % layout.extents[d] : rest; rest /= layout.extents[d]; for (int i = 0; i < " +
          operands + "; ++i) places_[i] += at * layout.strides[i][d]; } }\n";
  return text;
}

void put_number(Arguments& arguments, const Iterator& iter, int operand) {
  const char* data = iter.data(operand);
  switch (iter.dtype(operand)) {
    case DType::float16:
      return arguments.put(static_cast<float>(*reinterpret_cast<const float16*>(data)));
    case DType::bfloat16:
      return arguments.put(static_cast<float>(*reinterpret_cast<const bfloat16*>(data)));
    default:
      arguments.put_bytes(std::vector<char>(data, data + size_of(iter.dtype(operand))));
  }
}

void put_layout(Arguments& arguments, const Iterator& iter) {
  std::vector<int64_t> layout;
  for (int d = 0; d < iter.rank(); ++d) layout.push_back(iter.extent(d));
  for (int i = 0; i < iter.operand_count(); ++i)
    for (int d = 0; d < iter.rank(); ++d) layout.push_back(iter.byte_stride(i, d));
  const char* bytes = reinterpret_cast<const char*>(layout.data());
  arguments.put_bytes(std::vector<char>(bytes, bytes + layout.size() * sizeof(int64_t)));
}

}  // namespace

void map(const char* name, const char* source, const Iterator& iter, const Arguments& given) {
  if (iter.numel() == 0) return;
  const bool dense = is_dense(iter);
  Arguments arguments;
  arguments.integer(iter.numel());
  for (int i = 0; i < iter.operand_count(); ++i) {
    if (is_number(iter, i)) {
      put_number(arguments, iter, i);
    } else {
      arguments.pointer(iter.data(i));
    }
  }
  arguments.append(given);
  if (!dense) put_layout(arguments, iter);
  run(name, header(iter.common_dtype(), source) + operands_text(iter, dense) + source, arguments,
      {static_cast<size_t>(iter.numel())});
}

}  // namespace flambeau::opencl
