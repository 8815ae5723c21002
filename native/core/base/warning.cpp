#include "core/base/warning.h"

#include <iostream>

namespace flambeau {

namespace {
void print(const std::string& message) { std::cerr << "warning: " << message << '\n'; }
}  // namespace

void (*tell_user)(const std::string& message) = &print;

}  // namespace flambeau
