#pragma once

/// The harness of the native tests: TEST(name) { CHECK(condition); ... } any number of times, and
/// before them perhaps SETUP { ... }. A failed check prints where and what, the test goes on, and
/// the program (main.cpp) returns 1.

#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace flambeau::testing {

struct TestCase {
  const char* name;
  void (*run)();
};
/// The tests of each file that is linked, in the order in which they are written.
inline std::map<std::string, std::vector<TestCase>>& cases() {
  static std::map<std::string, std::vector<TestCase>> all;
  return all;
}
inline int failures = 0;
struct AddCase {
  AddCase(const char* file, const char* name, void (*run)()) {
    cases()[file].push_back({name, run});
  }
};

inline void report(const char* file, int line, const char* text) {
  ++failures;
  std::printf("%s:%d: failed: %s\n", file, line, text);
}

}  // namespace flambeau::testing

// FLAMBEAU_TESTS, which the build gives: the file, and the instruction set where it is built for
// several.
#define FLAMBEAU_TEXT_OF(name) #name
#define FLAMBEAU_TEXT(name) FLAMBEAU_TEXT_OF(name)
#define TEST(name)                                                                         \
  static void test_##name();                                                               \
  static const ::flambeau::testing::AddCase add_##name{FLAMBEAU_TEXT(FLAMBEAU_TESTS),      \
                                                       FLAMBEAU_TEXT(name), &test_##name}; \
  static void test_##name()
#define SETUP TEST(setup)

#define CHECK(...)                                                                     \
  do {                                                                                 \
    if (!(__VA_ARGS__)) ::flambeau::testing::report(__FILE__, __LINE__, #__VA_ARGS__); \
  } while (false)

/// Of plain loops that results are compared with: sanitizers look at what is tested.
#define REFERENCE [[gnu::no_sanitize_address, gnu::no_sanitize_undefined]]

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
