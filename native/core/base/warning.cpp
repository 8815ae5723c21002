#include "core/base/warning.h"

#include <iostream>

namespace flambeau {

namespace {
void print(const std::string& message) { std::cerr << "warning: " << message << '\n'; }
std::atomic<bool> always = false;
}  // namespace

void (*tell_user)(const std::string& message) = &print;

bool warns_always() { return always.load(std::memory_order_relaxed); }
void set_warn_always(bool is_wanted) { always.store(is_wanted, std::memory_order_relaxed); }

}  // namespace flambeau
