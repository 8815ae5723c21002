#pragma once

#include <cstdio>
#include <cstdlib>

/// CHECK(condition): on failure prints where and what, and makes the test program return 1.
namespace flambeau::testing {
inline int failures = 0;
inline int report() {
  if (failures) std::fprintf(stderr, "%d check(s) failed\n", failures);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
}  // namespace flambeau::testing

#define CHECK(...)                                                                         \
  do {                                                                                     \
    if (!(__VA_ARGS__)) {                                                                  \
      std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #__VA_ARGS__); \
      ++flambeau::testing::failures;                                                       \
    }                                                                                      \
  } while (false)
