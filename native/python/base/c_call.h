#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

/// Calls of C functions whose types are known at run time only, by the rules of the System V ABI
/// for x86-64 and of the procedure call standard for AArch64: the first integers and pointers go
/// into general registers, the first floats into vector registers, whatever the order; the rest
/// goes onto the stack in order. A function finds its arguments however many further registers are
/// loaded: one call serves all.
namespace flambeau::python {

#if defined(__aarch64__)
inline constexpr int kGeneralRegisters = 8;
#else
inline constexpr int kGeneralRegisters = 6;
#endif
inline constexpr int kVectorRegisters = 8, kStackWords = 16;

/// The words of a call: general registers, vector registers, stack.
struct CallWords {
  int64_t general[kGeneralRegisters] = {};
  double vector[kVectorRegisters] = {};
  int64_t stack[kStackWords] = {};
};

/// Which word each argument takes, in the order of the parameters.
class WordPlan {
 public:
  /// The byte offset of the next argument's word in CallWords; -1 when the stack is full.
  int next(bool is_float);
  bool uses_stack() const { return stack_ > 0; }

 private:
  int general_ = 0, vector_ = 0, stack_ = 0;
};

inline int WordPlan::next(bool is_float) {
  if (!is_float && general_ < kGeneralRegisters) return 8 * general_++;
  if (is_float && vector_ < kVectorRegisters) return 8 * (kGeneralRegisters + vector_++);
  if (stack_ == kStackWords) return -1;
  return 8 * (kGeneralRegisters + kVectorRegisters + stack_++);
}

namespace detail {

/// Word, whatever the place: a list of parameters of one type.
template <class Word, size_t>
using At = Word;

template <class Result, size_t... g, size_t... v, size_t... s>
Result call_words(void* function, const CallWords& words, std::index_sequence<g...>,
                  std::index_sequence<v...>, std::index_sequence<s...>) {
  using Function = Result(At<int64_t, g>..., At<double, v>..., At<int64_t, s>...);
  return reinterpret_cast<Function*>(function)(words.general[g]..., words.vector[v]...,
                                               words.stack[s]...);
}

}  // namespace detail

template <class Result>
Result call_words(void* function, const CallWords& words, bool uses_stack) {
  constexpr std::make_index_sequence<kGeneralRegisters> general;
  constexpr std::make_index_sequence<kVectorRegisters> vector;
  constexpr std::make_index_sequence<kStackWords> stack;
  constexpr std::index_sequence<> none;
  if (!uses_stack) return detail::call_words<Result>(function, words, general, vector, none);
  return detail::call_words<Result>(function, words, general, vector, stack);
}

}  // namespace flambeau::python
