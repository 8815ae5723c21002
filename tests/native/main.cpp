// Runs the tests of one of the files that are linked: a process for each.

#include "check.h"

using namespace flambeau::testing;

namespace {
void run(const TestCase& test) {
  const int before = failures;
  try {
    test.run();
  } catch (const std::exception& error) {
    ++failures;
    std::printf("%s: threw: %s\n", test.name, error.what());
  }
  std::printf("%s %s\n", failures == before ? "ok    " : "FAILED", test.name);
}
}  // namespace

int main(int count, char** arguments) {
  if (count != 2 || cases().count(arguments[1]) == 0) {
    std::printf("usage: %s FILE, one of:\n", arguments[0]);
    for (const auto& [file, tests] : cases()) std::printf("  %s\n", file.c_str());
    return 2;
  }
  for (const TestCase& test : cases()[arguments[1]]) run(test);
  return failures == 0 ? 0 : 1;
}
