#pragma once

/// The harness of the native tests: TEST(name) { CHECK(condition); ... } any number of times, then
/// `int main() { return flambeau::testing::run_all(); }`. A failed check prints where and what, the
/// test goes on, and the program returns 1.

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

namespace flambeau::testing {

struct TestCase {
  const char* name;
  void (*run)();
};
inline std::vector<TestCase>& cases() {
  static std::vector<TestCase> all;
  return all;
}
inline int failures = 0;
struct AddCase {
  AddCase(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

inline void report(const char* file, int line, const char* text) {
  ++failures;
  std::printf("%s:%d: failed: %s\n", file, line, text);
}

/// Runs the tests in the order they are written.
inline int run_all() {
  for (const TestCase& each : cases()) {
    const int before = failures;
    try {
      each.run();
    } catch (const std::exception& error) {
      ++failures;
      std::printf("%s: threw: %s\n", each.name, error.what());
    }
    std::printf("%s %s\n", failures == before ? "ok    " : "FAILED", each.name);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace flambeau::testing

#define TEST(name)                                                           \
  static void test_##name();                                                 \
  static const ::flambeau::testing::AddCase add_##name{#name, &test_##name}; \
  static void test_##name()

#define CHECK(...)                                                                     \
  do {                                                                                 \
    if (!(__VA_ARGS__)) ::flambeau::testing::report(__FILE__, __LINE__, #__VA_ARGS__); \
  } while (false)

/// |value - expected| <= tolerance, equal infinities and NaN with NaN included.
#define CHECK_CLOSE(value, expected, tolerance)                                       \
  do {                                                                                \
    const double check_v = (value), check_e = (expected);                             \
    if (!(check_v == check_e || (check_v != check_v && check_e != check_e) ||         \
          std::fabs(check_v - check_e) <= (tolerance))) {                             \
      ::flambeau::testing::report(__FILE__, __LINE__, #value " close to " #expected); \
      std::printf("  %.17g, expected %.17g\n", check_v, check_e);                     \
    }                                                                                 \
  } while (false)

#define CHECK_THROWS(...)                                                                         \
  do {                                                                                            \
    bool check_threw = false;                                                                     \
    try {                                                                                         \
      __VA_ARGS__;                                                                                \
    } catch (const std::exception&) {                                                             \
      check_threw = true;                                                                         \
    }                                                                                             \
    if (!check_threw) ::flambeau::testing::report(__FILE__, __LINE__, "no error: " #__VA_ARGS__); \
  } while (false)
