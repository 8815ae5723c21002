#include "core/memory/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>

#include "core/base/error.h"
#include "core/memory/shared_lock.h"
#include "core/threads/parallel.h"

namespace flambeau {

namespace {

/// What one thread writes at a time.
constexpr size_t kBlock = size_t{1} << 20;

/// Files that are mapped here; shared_lock() guards it. Never destroyed, like all that tensors use.
std::map<SharedFile::Identity, SharedFile*>& mapped_files() {
  static auto& files = *new std::map<SharedFile::Identity, SharedFile*>;
  return files;
}

[[noreturn, gnu::cold]] void refused(const char* op, const char* action, size_t bytes) {
  const int error = errno;
  if (error == EMFILE) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    fail(ErrorKind::runtime, op, ": cannot ", action, " ", bytes,
         " bytes of shared memory: the process has as many open files as it may (RLIMIT_NOFILE, ",
         limit.rlim_cur, "), and every large shared storage is one; raise it with ulimit -n");
  }
  const bool memory = error == ENOSPC || error == ENOMEM || error == EFBIG || error == EDQUOT;
  fail(memory ? ErrorKind::out_of_memory : ErrorKind::runtime, op, ": cannot ", action, " ", bytes,
       " bytes of shared memory: ", std::strerror(error));
}

/// A descriptor until somebody takes it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  int take() { return std::exchange(number_, -1); }

 private:
  int number_;
};

SharedFile::Identity identity_of(const struct stat& file) { return {file.st_dev, file.st_ino}; }

}  // namespace

Ref<SharedFile> SharedFile::create(size_t bytes, const char* op) {
  check(bytes <= static_cast<size_t>(PTRDIFF_MAX) / 2, ErrorKind::out_of_memory, op, ": ", bytes,
        " bytes of shared memory are more than an address space");
  Descriptor file(memfd_create("flambeau", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  struct stat status {};
  // No process may take away what another one has mapped.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.number(), F_ADD_SEALS, kSeals) != 0 || fstat(file.number(), &status) != 0)
    refused(op, "take", bytes);
  const Ref<SharedFile> made(new SharedFile(file.number(), bytes, identity_of(status), op));
  file.take();
  const SharedLock lock;
  mapped_files()[made->identity_] = made.get();
  return made;
}

Ref<SharedFile> SharedFile::open(int descriptor, const char* op) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) refused(op, "look at", 0);
  const auto bytes = static_cast<size_t>(status.st_size);
  {
    const SharedLock lock;
    const auto known = mapped_files().find(identity_of(status));
    if (known != mapped_files().end() && known->second->retain_if_alive())
      return Ref<SharedFile>::adopt(known->second);
  }
  Descriptor own(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (own.number() < 0) refused(op, "map", bytes);
  // A thread that opens the same file at this moment makes a mapping of its own: both work, and
  // the one that is noted last is found from then on.
  const Ref<SharedFile> opened(new SharedFile(own.number(), bytes, identity_of(status), op));
  own.take();
  const SharedLock lock;
  mapped_files()[opened->identity_] = opened.get();
  return opened;
}

SharedFile::SharedFile(int descriptor, size_t bytes, Identity identity, const char* op)
    : descriptor_(descriptor), bytes_(bytes), identity_(identity) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) refused(op, "map", bytes);
  data_ = static_cast<char*>(data);
}

SharedFile::~SharedFile() {
  munmap(data_, bytes_);
  ::close(descriptor_);
}

void SharedFile::destroy() noexcept {
  {
    const SharedLock lock;
    if (was_found_again()) return;
    const auto known = mapped_files().find(identity_);
    if (known != mapped_files().end() && known->second == this) mapped_files().erase(known);
  }
  delete this;
}

void SharedFile::write(const void* source, size_t bytes, size_t offset, const char* op) const {
  const char* const data = static_cast<const char*>(source);
  const auto count = static_cast<int64_t>((bytes + kBlock - 1) / kBlock);
  const int writers = static_cast<int>(std::min<int64_t>(num_threads(), count));
  std::atomic<int64_t> left = count, front = 0, back = count;
  // The descriptor has one writer at a time, which is the cheapest; the others use the mapping.
  parallel_for(0, writers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t writer = begin; writer < end; ++writer) {
      while (left.fetch_sub(1) > 0) {
        const auto first = static_cast<size_t>(writer == 0 ? front++ : --back) * kBlock;
        const size_t size = std::min(kBlock, bytes - first);
        if (writer == 0 || !write_mapped(data + first, size, offset + first, op))
          write_through(data + first, size, offset + first, op);
      }
    }
  });
}

void SharedFile::write_through(const char* data, size_t bytes, size_t offset,
                               const char* op) const {
  for (size_t done = 0; done < bytes;) {
    const ssize_t count =
        pwrite(descriptor_, data + done, bytes - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno != EINTR) refused(op, "write", bytes);
    if (count > 0) done += static_cast<size_t>(count);
  }
}

bool SharedFile::write_mapped(const char* data, size_t bytes, size_t offset, const char* op) const {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, of Linux 5.14
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = offset % page;
  while (madvise(data_ + offset - before, before + bytes, kPopulateWrite) != 0) {
    if (errno == EINVAL) return false;
    if (errno != EINTR && errno != EAGAIN) refused(op, "write", bytes);
  }
  std::memcpy(data_ + offset, data, bytes);
  return true;
}

void SharedFile::reserve(size_t bytes, size_t offset, const char* op) const {
  while (fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) refused(op, "take", bytes);
}

}  // namespace flambeau
