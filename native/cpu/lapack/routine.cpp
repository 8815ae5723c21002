#include "cpu/lapack/routine.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/backends/foreign.h"
#include "core/base/error.h"
#include "cpu/lapack/one_thread.h"

namespace flambeau::cpu::lapack::detail {

namespace {

/// Takes the next parameter off "char *, int *)".
std::string_view next_parameter(std::string_view& rest) {
  const size_t end = rest.find_first_of(",)");
  const std::string_view found = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end == std::string_view::npos ? end : end + 1));
  return found;
}

bool takes(std::string_view type, const char* const* endings, int count) {
  constexpr std::string_view returns = "void (";
  if (!type.starts_with(returns)) return false;
  type.remove_prefix(returns.size());
  for (int i = 0; i < count; ++i) {
    // `long *` in place of `int *`: a build with integers of 64 bits.
    if (!next_parameter(type).ends_with(endings[i])) return false;
  }
  return type.empty();
}

}  // namespace

AnyRoutine::AnyRoutine(AnyRoutine*& first, std::string name, const char* library,
                       const char* const* endings, int count)
    : name_(std::move(name)),
      library_(library),
      endings_(endings),
      count_(count),
      next_(std::exchange(first, this)) {}

void AnyRoutine::find() {
  const ForeignFunction found = foreign_function(library_, name_.c_str());
  if (!takes(found.type, endings_, count_)) {
    std::string wanted;
    for (int i = 0; i < count_; ++i) wanted += (i == 0 ? "" : ", ") + std::string(endings_[i]);
    fail(ErrorKind::runtime, "SciPy's ", library_, " does not fit: its ", name_, " is ", found.type,
         ", expected (", wanted, ") with int of 32 bits");
  }
  address_ = found.address;
  know_library(found.address);
}

void AnyRoutine::find_all(AnyRoutine* first) {
  for (AnyRoutine* routine = first; routine != nullptr; routine = routine->next_) routine->find();
}

}  // namespace flambeau::cpu::lapack::detail
