/// What the headers of newer C++ libraries call, by way of what GCC 8's library has: part of
/// wheels, which are linked on one system and load on older ones. Calls from within the library
/// find these first; none is visible outside.

#include <new>
#include <string>

#define FLAMBEAU_OWN extern "C" __attribute__((visibility("hidden")))
#define FLAMBEAU_NAMED(symbol) __asm__(symbol)
#define FLAMBEAU_STREAM "_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC"
#define FLAMBEAU_BUFFER "St7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE3strEv"

// The copies of these two that headers put into the library call what is defined here: hence the
// versions, which only the C++ library has.
extern "C" void older_copy(void* pointer, const void* other) noexcept;
__asm__(".symver older_copy, _ZNSt15__exception_ptr13exception_ptrC1ERKS0_@CXXABI_1.3.3");
extern "C" void older_end(void* pointer) noexcept;
__asm__(".symver older_end, _ZNSt15__exception_ptr13exception_ptrD1Ev@CXXABI_1.3.3");

// std::exception_ptr::_M_addref and _M_release: a pointer to what was thrown, and nothing else.
FLAMBEAU_OWN void add_reference(void* pointer)
    FLAMBEAU_NAMED("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
void add_reference(void* pointer) {
  void* copy;
  older_copy(&copy, pointer);
}

FLAMBEAU_OWN void release(void* pointer)
    FLAMBEAU_NAMED("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void release(void* pointer) { older_end(pointer); }

// std::ostringstream::ostringstream()
extern "C" void stream_of_mode(void* stream, int mode)
    FLAMBEAU_NAMED(FLAMBEAU_STREAM "1ESt13_Ios_Openmode");
FLAMBEAU_OWN void stream(void* stream) FLAMBEAU_NAMED(FLAMBEAU_STREAM "1Ev");
void stream(void* stream) {
  constexpr int kOut = 1 << 4;  // std::ios_base::out, a part of the ABI
  stream_of_mode(stream, kOut);
}

// std::stringbuf::str() const&
extern "C++" std::string text_of(const void* buffer) FLAMBEAU_NAMED("_ZNK" FLAMBEAU_BUFFER);
extern "C++" __attribute__((visibility("hidden"))) std::string text(const void* buffer)
    FLAMBEAU_NAMED("_ZNKR" FLAMBEAU_BUFFER);
std::string text(const void* buffer) { return text_of(buffer); }

// std::__throw_bad_array_new_length()
FLAMBEAU_OWN __attribute__((noreturn)) void bad_length()
    FLAMBEAU_NAMED("_ZSt28__throw_bad_array_new_lengthv");
void bad_length() { throw std::bad_array_new_length(); }
