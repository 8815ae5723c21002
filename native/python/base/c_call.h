#pragma once

#include <cstdint>

/// Calls of C functions whose types are known at run time only, by the rules of the System V ABI
/// for x86-64: the first six integers and pointers go into general registers, the first eight
/// floats into vector registers, whatever the order; the rest goes onto the stack in order. A
/// function finds its arguments however many further registers are loaded: one call serves all.
namespace flambeau::python {

inline constexpr int kGeneralRegisters = 6, kVectorRegisters = 8, kStackWords = 16;

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

template <class Result>
Result call_words(void* function, const CallWords& words, bool uses_stack) {
  using I = int64_t;
  using D = double;
  const auto& [g, v, s] = words;
  if (!uses_stack) {
    using Function = Result(I, I, I, I, I, I, D, D, D, D, D, D, D, D);
    return reinterpret_cast<Function*>(function)(g[0], g[1], g[2], g[3], g[4], g[5], v[0], v[1],
                                                 v[2], v[3], v[4], v[5], v[6], v[7]);
  }
  using Function = Result(I, I, I, I, I, I, D, D, D, D, D, D, D, D, I, I, I, I, I, I, I, I, I, I, I,
                          I, I, I, I, I);
  return reinterpret_cast<Function*>(function)(g[0], g[1], g[2], g[3], g[4], g[5], v[0], v[1], v[2],
                                               v[3], v[4], v[5], v[6], v[7], s[0], s[1], s[2], s[3],
                                               s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11],
                                               s[12], s[13], s[14], s[15]);
}

}  // namespace flambeau::python
