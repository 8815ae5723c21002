#include "core/files/transfer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/files/crc32.h"
#include "core/threads/interrupt.h"
#include "core/threads/parallel.h"

namespace flambeau {

namespace {

/// What stays in a processor's cache between the system's copy and the checksum.
constexpr size_t kBlock = size_t{1} << 18;
/// What one thread reads at a time.
constexpr size_t kPiece = size_t{1} << 20;
/// The disk is told to begin when so many more bytes of a file are written.
constexpr off_t kAhead = off_t{1} << 23;

Transfer read_piece(int file, off_t offset, char* data, size_t bytes) {
  Transfer result;
  while (bytes > 0) {
    const ssize_t count = pread(file, data, std::min(bytes, kBlock), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) result.error = errno;
    result.ended = count == 0;
    if (count <= 0) return result;
    result.crc = crc32(result.crc, data, static_cast<size_t>(count));
    data += count;
    offset += count;
    bytes -= static_cast<size_t>(count);
  }
  return result;
}

}  // namespace

Transfer read_file(int file, off_t offset, void* data, size_t bytes) {
  const size_t count = (bytes + kPiece - 1) / kPiece;
  std::vector<Transfer> pieces(count);
  const auto length = [&](size_t i) { return std::min(kPiece, bytes - i * kPiece); };
  parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const size_t start = i * kPiece;
      pieces[i] = read_piece(file, offset + static_cast<off_t>(start),
                             static_cast<char*>(data) + start, length(i));
      check_interrupt();
    }
  });
  Transfer result;
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].error || pieces[i].ended) return pieces[i];
    result.crc = crc32_combined(result.crc, pieces[i].crc, length(i));
  }
  return result;
}

Transfer write_file(int file, off_t offset, const void* data, size_t bytes) {
  Transfer result;
  const char* from = static_cast<const char*>(data);
  size_t summed = 0;  // bytes from `from` on
  while (bytes > 0) {
    const size_t block = std::min(bytes, kBlock);
    if (summed < block) {
      result.crc = crc32(result.crc, from + summed, block - summed);
      summed = block;
    }
    const ssize_t count = pwrite(file, from, block, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      result.error = errno;
      return result;
    }
    const off_t before = offset / kAhead * kAhead;
    from += count;
    offset += count;
    bytes -= static_cast<size_t>(count);
    summed -= static_cast<size_t>(count);
    const off_t after = offset / kAhead * kAhead;
    // A hint: what cannot begin now is written when the file is synced.
    if (after > before) sync_file_range(file, before, after - before, SYNC_FILE_RANGE_WRITE);
    check_interrupt();
  }
  return result;
}

}  // namespace flambeau
