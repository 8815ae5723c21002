#pragma once

#include <atomic>
#include <string>
#include <type_traits>

#include "core/types/complex.h"

/// Functions of LAPACK and BLAS, in the build that SciPy carries, found when one is first needed.
namespace flambeau::cpu::lapack {

/// An argument as Fortran takes it, by address: a value, or what a pointer points at.
template <class T>
class Given {
 public:
  Given(T value) : value_(value), address_(&value_) {}  // implicit on purpose
  Given(T* address) : address_(address) {}
  Given(const T* address) : address_(const_cast<T*>(address)) {}
  Given(const Given&) = delete;
  template <class Integer>
  requires(std::is_same_v<T, int>&& std::is_same_v<Integer, int64_t>) Given(Integer value)
      : Given(static_cast<int>(value)) {}
  T* address() { return address_; }

 private:
  T value_{};
  T* address_;
};

namespace detail {
/// The letter that the name of a function begins with: what its elements are.
template <class T>
inline constexpr char kLetter = 0;
template <>
inline constexpr char kLetter<float> = 's';
template <>
inline constexpr char kLetter<double> = 'd';
template <>
inline constexpr char kLetter<complex<float>> = 'c';
template <>
inline constexpr char kLetter<complex<double>> = 'z';

/// How the type of a parameter ends in SciPy's spelling.
template <class T>
constexpr const char* type_ending() {
  if constexpr (std::is_same_v<T, char>) return "char *";
  if constexpr (std::is_same_v<T, int>) return "int *";
  if constexpr (std::is_same_v<T, float>) return "_s *";
  if constexpr (std::is_same_v<T, double>) return "_d *";
  if constexpr (std::is_same_v<T, complex<float>>) return "float_complex *";
  if constexpr (std::is_same_v<T, complex<double>>) return "double_complex *";
}

/// What is known of a function without its type.
class AnyRoutine {
 public:
  /// Finds all in a list, and compares the types of their parameters with those that they are
  /// called with.
  static void find_all(AnyRoutine* first);

 protected:
  AnyRoutine(AnyRoutine*& first, std::string name, const char* library, const char* const* endings,
             int count);
  std::atomic<void*> address_ = nullptr;  ///< two threads that find it write the same

 private:
  void find();

  std::string name_;
  const char* library_;
  const char* const* endings_;
  int count_;
  AnyRoutine* next_;
};

template <class T>
inline constinit AnyRoutine* first_routine = nullptr;

template <class... Parameters>
inline constexpr const char* kEndings[] = {type_ending<Parameters>()...};
}  // namespace detail

/// Finds all functions for elements of type T, the first time. Kernels do so before they start
/// threads: who finds them may need a lock that the calling thread holds.
template <class T>
void find_routines() {
  static std::atomic<bool> found = false;
  if (found.load(std::memory_order_acquire)) return;
  detail::AnyRoutine::find_all(detail::first_routine<T>);
  found.store(true, std::memory_order_release);
}

/// One function: what it is called without its letter, and what it takes.
template <class T, class... Parameters>
class Routine : public detail::AnyRoutine {
 public:
  explicit Routine(const char* name, const char* library = "lapack")
      : AnyRoutine(detail::first_routine<T>, detail::kLetter<T> + std::string(name), library,
                   detail::kEndings<Parameters...>, sizeof...(Parameters)) {}
  void operator()(Given<Parameters>... arguments) const {
    using Function = void (*)(Parameters * ...);
    reinterpret_cast<Function>(address_.load(std::memory_order_relaxed))(arguments.address()...);
  }
};

}  // namespace flambeau::cpu::lapack
