#pragma once

namespace flambeau::cpu::lapack {

/// As long as one exists, LAPACK computes on the threads that call it. Its own threads wait for
/// each other in loops that take the processors from whoever else wants them, ours first.
class OneThread {
 public:
  explicit OneThread(bool is_wanted);
  ~OneThread();
  OneThread(const OneThread&) = delete;

 private:
  bool is_wanted_;
};

/// Called with a function of the library, which says how its threads are limited.
void know_library(const void* function);

}  // namespace flambeau::cpu::lapack
