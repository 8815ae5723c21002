#pragma once

#include <compare>

#include "core/base/intrusive.h"

namespace flambeau {

/// A file in memory, without a name, which all processes that have a descriptor of it map at once.
/// Unmapped and closed when its last block here goes; the system frees it with the last process
/// that has it, however that ends.
class SharedFile final : public RefCounted {
 public:
  /// What tells it from all other files that exist, in every process.
  struct Identity {
    uint64_t device, inode;
    auto operator<=>(const Identity&) const = default;
  };

  /// Error(out_of_memory) or Error(runtime) that names `op` where the system refuses.
  static Ref<SharedFile> create(size_t bytes, const char* op);
  /// A file that another process made, or this one: then the same object. Takes a duplicate of the
  /// descriptor where it needs one.
  static Ref<SharedFile> open(int descriptor, const char* op);

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  const Identity& identity() const { return identity_; }
  /// Where memory runs out this is an error: touching a page of the mapping for the first time
  /// would be a SIGBUS. Large contents are written by several threads.
  void write(const void* source, size_t bytes, size_t offset, const char* op) const;
  /// Takes the memory without writing to it.
  void reserve(size_t bytes, size_t offset, const char* op) const;

 protected:
  void destroy() noexcept override;

 private:
  SharedFile(int descriptor, size_t bytes, Identity identity, const char* op);
  ~SharedFile() override;
  /// By way of the descriptor.
  void write_through(const char* data, size_t bytes, size_t offset, const char* op) const;
  /// Into the mapping, whose pages are taken before; false where the system cannot do that.
  bool write_mapped(const char* data, size_t bytes, size_t offset, const char* op) const;
  int descriptor_;
  size_t bytes_;
  Identity identity_;
  char* data_;
};

}  // namespace flambeau
