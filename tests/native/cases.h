#pragma once

/// A minimal test harness: TEST(name) { CHECK(condition); } and one main per binary.

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

namespace flambeau::testing {

struct Case {
  const char* name;
  void (*run)();
};
inline std::vector<Case>& cases() {
  static std::vector<Case> all;
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

inline int run_all() {
  for (const Case& each : cases()) {
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

#undef CHECK
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
