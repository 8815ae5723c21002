#include "core/base/error.h"

#include <sstream>

namespace flambeau::detail {

std::string join(std::initializer_list<MessagePart> parts) {
  std::ostringstream stream;
  for (const MessagePart& part : parts) stream << part;
  return stream.str();
}

void throw_error(ErrorKind kind, std::initializer_list<MessagePart> parts) {
  throw Error(kind, join(parts));
}

}  // namespace flambeau::detail
