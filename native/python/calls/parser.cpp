#include "python/calls/parser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "python/base/names.h"

namespace flambeau::python {

namespace {

/// Why one overload did not match; `parameter` is -1 when no parameter is to blame.
struct Mismatch {
  int parameter = -1;
  std::string reason;
};

/// Other names of common parameters, NumPy's most of them, accepted as keywords.
struct Alias {
  const char* parameter;
  const char* alias;
};
constexpr Alias kAliases[] = {
    {kReceiver, kFirst},
    {kReceiver, "x"},
    {kReceiver, "a"},
    {kReceiver, "x1"},
    {kFirst, "x"},
    {"dim", "axis"},
    {"dims", "axes"},
    {"keepdim", "keepdims"},
    {"other", "x2"},
    {"correction", "ddof"},
    {"dim0", "axis0"},
    {"dim1", "axis1"},
    {"split_size", "split_size_or_sections"},
    {"split_sizes", "split_size_or_sections"},
};

const char* shown_name(const Parameter& parameter, bool method) {
  return method ? parameter.name : name_in_function(parameter.name);
}

const char* element_text(Kind kind) {
  switch (kind) {
    case Kind::tensor:
      return "Tensor";
    case Kind::operand:
      return "Tensor | Number";
    case Kind::scalar:
      return "Number";
    case Kind::integer:
      return "int";
    case Kind::floating:
      return "float";
    case Kind::boolean:
      return "bool";
    case Kind::string:
      return "str";
    case Kind::dtype:
      return "dtype";
    case Kind::device:
      return "device";
    case Kind::generator:
      return "Generator";
    case Kind::layout:
      return "flambeau.strided";
    case Kind::memory_format:
      return "memory_format";
    case Kind::integers:
      return "int | Sequence[int]";
    case Kind::floats:
      return "Sequence[float]";
    case Kind::booleans:
      return "Sequence[bool]";
    case Kind::tensors:
      return "Sequence[Tensor]";
    case Kind::object:
      return "object";
  }
  return "?";
}

std::string type_text(const Parameter& parameter) {
  std::string text = element_text(parameter.kind);
  if (parameter.kind == Kind::tensors && (parameter.flags & kNoneElements)) {
    text = "Sequence[Tensor | None]";
  }
  if (parameter.kind == Kind::integers && (parameter.flags & kNoneElements)) {
    text = "int | Sequence[int | None]";
  }
  if (parameter.kind == Kind::tensors && parameter.length > 0) {
    text = "tuple of " + std::to_string(parameter.length) + " Tensors";
  }
  if (parameter.flags & kSpread) text = parameter.kind == Kind::integers ? "int" : "Tensor";
  if (parameter.flags & kSparse) text += " of layout sparse_coo";
  if (parameter.flags & (kTrue | kFalse)) text = parameter.flags & kTrue ? "True" : "False";
  if (parameter.flags & kNone) text += " | None";
  return text;
}

/// One line, "add(input: Tensor, other: Tensor | Number, *, alpha: Number = 1)", and where each
/// parameter stands in it.
struct SignatureText {
  std::string line;
  std::vector<std::pair<size_t, size_t>> spans;
};

bool is_hidden(const Parameter& parameter, bool method) {
  return method && (parameter.flags & kOut);
}

bool has_out(const Overload& overload) {
  const Parameter* end = overload.parameters + overload.count;
  return std::any_of(overload.parameters, end, [](auto& p) { return p.flags & kOut; });
}

SignatureText signature_text(const char* name, const Overload& signature, bool method) {
  SignatureText text;
  text.line = std::string(method ? "Tensor." : "") + name + "(";
  bool first = true, keywords = false;
  for (int i = 0; i < signature.count; ++i) {
    const Parameter& parameter = signature[i];
    text.spans.emplace_back(text.line.size(), text.line.size());
    if ((method && i == signature.receiver) || is_hidden(parameter, method)) continue;
    if (!first) text.line += ", ";
    first = false;
    if ((parameter.flags & kKeywordOnly) && !keywords) {
      keywords = true;
      text.line += "*, ";
    }
    const size_t begin = text.line.size();
    if (parameter.flags & kSpread) keywords = true;
    text.line += parameter.flags & kSpread ? "*" : "";
    text.line += std::string(shown_name(parameter, method)) + ": " + type_text(parameter);
    // Where the default chooses another overload, this one needs the argument.
    const bool chooses = (parameter.flags & kTrue) && !parameter.otherwise.integer();
    if (parameter.otherwise.shown() && !chooses)
      text.line += std::string(" = ") + parameter.otherwise.shown();
    text.spans.back() = {begin, text.line.size()};
  }
  text.line += ")";
  return text;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// The index of the parameter that a keyword names; -1 if none.
int find_parameter(const Overload& signature, const char* keyword, bool method) {
  for (int i = 0; i < signature.count; ++i) {
    if (is_hidden(signature[i], method)) continue;
    if (std::strcmp(signature[i].name, keyword) == 0) return i;
  }
  for (const Alias& alias : kAliases) {
    if (std::strcmp(alias.alias, keyword) != 0) continue;
    for (int i = 0; i < signature.count; ++i) {
      if (std::strcmp(signature[i].name, alias.parameter) == 0) return i;
    }
  }
  return -1;
}

std::string unknown_keyword(const Overload& signature, const char* keyword, bool method) {
  std::string reason = std::string("unknown keyword argument '") + keyword + "'";
  size_t best = std::max<size_t>(2, std::strlen(keyword) / 3) + 1;
  const char* guess = nullptr;
  for (int i = 0; i < signature.count; ++i) {
    if ((method && i == signature.receiver) || is_hidden(signature[i], method)) continue;
    const char* candidate = shown_name(signature[i], method);
    if (const size_t distance = edit_distance(keyword, candidate); distance < best) {
      best = distance;
      guess = candidate;
    }
  }
  if (guess) reason += std::string(", did you mean '") + guess + "'?";
  return reason;
}

std::string plural(Py_ssize_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// One attempt at one overload. Why it failed is said on request: there may be others to try.
class Attempt {
 public:
  Attempt(const Overload& signature, PyObject* receiver, PyObject* const* args, Py_ssize_t count,
          PyObject* names, PyObject** slots, bool explains)
      : signature_(signature),
        receiver_(receiver),
        args_(args),
        count_(count),
        names_(names),
        slots_(slots),
        explains_(explains) {}

  bool bind() {
    std::fill_n(slots_, signature_.count, nullptr);
    if (method() && signature_.receiver >= 0) slots_[signature_.receiver] = receiver_;
    return bind_positional() && bind_keywords() && check_types();
  }
  PyObject* take_packed() { return packed_.release(); }
  const Mismatch& mismatch() const { return mismatch_; }

 private:
  bool method() const { return receiver_ != nullptr; }
  template <class Reason>
  bool refuse(int parameter, Reason&& reason) {
    if (explains_) mismatch_ = {parameter, reason()};
    return false;
  }

  std::string quoted(int parameter) const {
    return std::string("argument '") + shown_name(signature_[parameter], method()) + "'";
  }

  /// The positional arguments from one on, as the tuple that they stand for.
  PyObject* pack(Py_ssize_t from) {
    packed_ = checked(PyTuple_New(count_ - from));
    for (Py_ssize_t i = from; i < count_; ++i) {
      PyTuple_SET_ITEM(packed_.get(), i - from, Py_NewRef(args_[i]));
    }
    return packed_.get();
  }
  /// Whether the last positional argument is this one, and a sequence.
  bool is_one_list(Py_ssize_t i) const {
    return i + 1 == count_ && PySequence_Check(args_[i]) && !is_tensor(args_[i]);
  }

  bool bind_positional() {
    if (const int packing = signature_.packed(method());
        packing >= 0 && count_ > 0 && (count_ > 1 || PyIndex_Check(args_[0])) &&
        accepts(Parameter{"", Kind::integer}, args_[0])) {
      slots_[packing] = pack(0);
      return true;
    }
    Py_ssize_t next = 0;
    for (int i = 0; i < signature_.count && next < count_; ++i) {
      if (method() && i == signature_.receiver) continue;
      if (signature_[i].flags & kKeywordOnly) break;
      if (FLAMBEAU_UNLIKELY(signature_[i].flags & kSpread) && !is_one_list(next)) {
        slots_[i] = pack(next);
        next = count_;
      } else {
        slots_[i] = args_[next++];
      }
    }
    if (next == count_) return true;
    return refuse(-1, [&] {
      Py_ssize_t most = 0;
      for (int i = 0; i < signature_.count; ++i) {
        most += !(signature_[i].flags & kKeywordOnly) && !(method() && i == signature_.receiver);
      }
      return "takes at most " + plural(most, "positional argument") + ", " +
             std::to_string(count_) + (count_ == 1 ? " was given" : " were given");
    });
  }

  bool bind_keywords() {
    const Py_ssize_t keywords = names_ ? PyTuple_GET_SIZE(names_) : 0;
    for (Py_ssize_t k = 0; k < keywords; ++k) {
      const char* keyword = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names_, k));
      if (!keyword) throw_python_error();
      const int i = find_parameter(signature_, keyword, method());
      // np.sum(tensor) calls tensor.sum(axis=None, out=None).
      if (i < 0 && method() && has_out(signature_) && args_[count_ + k] == Py_None &&
          std::strcmp(keyword, "out") == 0) {
        continue;
      }
      if (i < 0) {
        return refuse(-1, [&] { return unknown_keyword(signature_, keyword, method()); });
      }
      if (slots_[i]) {
        return refuse(i, [&] { return quoted(i) + " was given twice, by position and by name"; });
      }
      slots_[i] = args_[count_ + k];
    }
    return true;
  }

  bool check_types() {
    for (int i = 0; i < signature_.count; ++i) {
      const Parameter& parameter = signature_[i];
      PyObject* value = slots_[i];
      if (FLAMBEAU_UNLIKELY(parameter.flags & (kTrue | kFalse)) &&
          !has_value_wanted(parameter, value)) {
        return refuse(i, [&] { return quoted(i) + " is not " + type_text(parameter); });
      }
      if (!value) {
        if (parameter.otherwise.shown()) continue;
        if ((parameter.flags & kSpread) && !names_) {
          slots_[i] = pack(count_);  // f() for f([])
          continue;
        }
        return refuse(i, [&] { return quoted(i) + " is missing"; });
      }
      if (method() && i == signature_.receiver) {
        if (FLAMBEAU_LIKELY(has_layout(parameter, value))) continue;
        return refuse(i, [&] {
          return quoted(i) + " must be " + type_text(parameter) + ", not " + describe_type(value);
        });
      }
      if (value == Py_None && (parameter.flags & kNone)) continue;
      if (!accepts(parameter, value)) {
        return refuse(i, [&] {
          return quoted(i) + position_text(i) + " must be " + type_text(parameter) + ", not " +
                 describe_type(refused_item(parameter, value));
        });
      }
    }
    return true;
  }

  /// Of a bool that must be True, or False: whether the argument, or its default, is.
  static bool has_value_wanted(const Parameter& parameter, PyObject* value) {
    if (value && !accepts(parameter, value)) return true;  // refused for its type
    const bool is_true = value ? to_bool(value) : parameter.otherwise.integer() != 0;
    return is_true == static_cast<bool>(parameter.flags & kTrue);
  }

  /// Of arguments that stand for one list, the first that cannot be in it.
  PyObject* refused_item(const Parameter& parameter, PyObject* value) const {
    if (value != packed_.get()) return value;
    const Parameter one{"", parameter.kind == Kind::integers ? Kind::integer : Kind::tensor};
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      if (!accepts(one, PyTuple_GET_ITEM(value, i))) return PyTuple_GET_ITEM(value, i);
    }
    return value;
  }

  std::string position_text(int parameter) const {
    if (packed_) return "";
    for (Py_ssize_t i = 0; i < count_; ++i) {
      if (args_[i] == slots_[parameter] && !is_keyword(parameter)) {
        return " (position " + std::to_string(i + 1) + ")";
      }
    }
    return "";
  }
  bool is_keyword(int parameter) const {
    const Py_ssize_t keywords = names_ ? PyTuple_GET_SIZE(names_) : 0;
    for (Py_ssize_t k = 0; k < keywords; ++k) {
      const char* keyword = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names_, k));
      if (keyword && find_parameter(signature_, keyword, method()) == parameter) return true;
    }
    return false;
  }

  const Overload& signature_;
  PyObject* receiver_;
  PyObject* const* args_;
  Py_ssize_t count_;
  PyObject* names_;
  PyObject** slots_;
  const bool explains_;
  PyRef packed_;
  Mismatch mismatch_;
};

std::string given_text(const char* name, bool method, PyObject* const* args, Py_ssize_t count,
                       PyObject* names) {
  std::string text = std::string(method ? "Tensor." : "") + name + "(";
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < count + keywords; ++i) {
    if (i > 0) text += ", ";
    if (i >= count) text += std::string(PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i - count))) + "=";
    text += describe_type(args[i]);
  }
  return text + ")";
}

/// The signature, and below it a mark under the parameter that was refused.
std::string marked_signature(const SignatureText& text, const Mismatch& mismatch,
                             const std::string& indent, bool with_reason) {
  std::string lines = indent + text.line;
  if (mismatch.parameter >= 0) {
    const auto [begin, end] = text.spans[mismatch.parameter];
    if (end > begin) {
      lines += "\n" + indent + std::string(begin, ' ') + std::string(end - begin, '^');
    }
  }
  if (with_reason) lines += "\n" + indent + "    " + mismatch.reason;
  return lines;
}

/// TypeError that says of each overload why it does not match; of those for sparse tensors, where
/// there is one.
[[noreturn]] void refuse(const Binding& binding, PyObject* receiver, PyObject* const* args,
                         Py_ssize_t arg_count, PyObject* names, PyObject** slots) {
  const bool method = receiver != nullptr;
  const Py_ssize_t given = arg_count + (names ? PyTuple_GET_SIZE(names) : 0);
  const bool is_sparse =
      (receiver && is_sparse_object(receiver)) || std::any_of(args, args + given, is_sparse_object);
  const auto has_form = [&](const Overload& overload) {
    return (overload.flags & (method ? kMethod : kFunction)) != 0;
  };
  const bool leaves_out =
      !is_sparse && std::any_of(binding.overloads.begin(), binding.overloads.end(),
                                [&](const Overload& o) { return has_form(o) && !o.takes_sparse; });
  std::vector<std::pair<const Overload*, Mismatch>> mismatches;
  for (const Overload& overload : binding.overloads) {
    if (!has_form(overload) || (leaves_out && overload.takes_sparse)) continue;
    Attempt attempt(overload, receiver, args, arg_count, names, slots, true);
    attempt.bind();
    mismatches.emplace_back(&overload, attempt.mismatch());
  }
  std::string message = std::string(method ? "Tensor." : "") + binding.name + "(): ";
  const std::string seen = given_text(binding.name, method, args, arg_count, names);
  if (mismatches.size() == 1) {
    const auto& [overload, mismatch] = mismatches[0];
    const SignatureText text = signature_text(binding.name, *overload, method);
    message += mismatch.reason + "\n  given:    " + seen + "\n  expected: " +
               marked_signature(text, mismatch, "            ", false).substr(12);
  } else {
    message += "no signature takes these arguments\n  given: " + seen + "\n  expected one of:";
    for (const auto& [overload, mismatch] : mismatches) {
      const SignatureText text = signature_text(binding.name, *overload, method);
      message += "\n" + marked_signature(text, mismatch, "    ", true);
    }
  }
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw_python_error();
}

}  // namespace

Parsed parse(const Binding& binding, PyObject* receiver, PyObject* const* args, Py_ssize_t count,
             PyObject* names, PyObject** slots) {
  const uint8_t form = receiver ? kMethod : kFunction;
  for (size_t i = 0; i < binding.overloads.size(); ++i) {
    const Overload& overload = binding.overloads[i];
    if (!(overload.flags & form)) continue;
    Attempt attempt(overload, receiver, args, count, names, slots, false);
    if (attempt.bind()) return Parsed(static_cast<int>(i), slots, attempt.take_packed());
  }
  refuse(binding, receiver, args, count, names, slots);
}

}  // namespace flambeau::python
