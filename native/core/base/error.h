#pragma once

#include <initializer_list>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/base/macros.h"

namespace flambeau {

/// The Python exception that an Error becomes.
enum class ErrorKind {
  runtime,
  value,
  type,
  index,
  not_implemented,
  out_of_memory,
  overflow,
  linalg  ///< a matrix that is singular, or that an algorithm does not converge for
};

/// Every failure that a user can cause. The message names operator, argument, what was seen, what
/// was expected.
class FLAMBEAU_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const noexcept { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }
  /// The same; text that was passed to an operator may have zeros in it.
  const std::string& message() const noexcept { return message_; }

 private:
  ErrorKind kind_;
  std::string message_;
};

/// The system has no memory left for an object of the library. Made without taking any.
class FLAMBEAU_API OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(size_t bytes) noexcept;
  const char* what() const noexcept override { return message_; }

 private:
  char message_[96];
};

/// A part of a message: anything that operator<< prints, while the message is made.
class MessagePart {
 public:
  MessagePart(const char* text) : value_(text), print_(&print_text) {}
  template <class T>
  MessagePart(const T& value) : value_(&value), print_(&print_value<T>) {}
  friend std::ostream& operator<<(std::ostream& stream, const MessagePart& part) {
    part.print_(stream, part.value_);
    return stream;
  }

 private:
  static void print_text(std::ostream& stream, const void* text) {
    stream << static_cast<const char*>(text);
  }
  template <class T>
  static void print_value(std::ostream& stream, const void* value) {
    stream << *static_cast<const T*>(value);
  }

  const void* value_;
  void (*print_)(std::ostream& stream, const void* value);
};

namespace detail {

FLAMBEAU_API std::string join(std::initializer_list<MessagePart> parts);
[[noreturn]] FLAMBEAU_API void throw_error(ErrorKind kind,
                                           std::initializer_list<MessagePart> parts);

/// Once for all texts, however long.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail_with(ErrorKind kind, const Parts&... parts) {
  throw_error(kind, {parts...});
}

}  // namespace detail

/// Joins its arguments with operator<<.
template <class... Parts>
std::string concatenate(const Parts&... parts) {
  return detail::join({parts...});
}

/// Throws Error(kind, parts...). Out of line, so that a check costs a compare and a jump.
template <class... Parts>
[[noreturn]] FLAMBEAU_INLINE void fail(ErrorKind kind, const Parts&... parts) {
  detail::fail_with<std::decay_t<const Parts>...>(kind, parts...);
}

#ifndef FLAMBEAU_REMOVABLE_CHECKS
using Condition = bool;
#else
using Condition = detail::RemovableCondition;
#endif

/// check(condition, ErrorKind::value, "op: argument dim ...", dim)
template <class... Parts>
FLAMBEAU_INLINE void check(Condition condition, ErrorKind kind, const Parts&... parts) {
  if (FLAMBEAU_UNLIKELY(!condition)) fail(kind, parts...);
}

}  // namespace flambeau

/// The same for a condition that is not computed where it is passed on: generated code states what
/// entries require.
#define FLAMBEAU_REQUIRE(condition, ...)                                \
  do {                                                                  \
    if (FLAMBEAU_UNLIKELY(!(condition))) ::flambeau::fail(__VA_ARGS__); \
  } while (false)
