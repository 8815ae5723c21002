// Checksums, blocks of memory to and from files, mapped files.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "check.h"
#include "core/files/crc32.h"
#include "core/files/mapped_file.h"
#include "core/files/transfer.h"
#include "core_tools.h"

using namespace flambeau;
using namespace flambeau::testing;

namespace {

/// Bit by bit, as the polynomial division is defined.
uint32_t slow_crc(uint32_t crc, const unsigned char* data, size_t bytes) {
  crc = ~crc;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

std::vector<unsigned char> random_bytes(size_t count) {
  std::mt19937 random(7);
  std::vector<unsigned char> bytes(count);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

/// A file without a name, which goes when it is closed.
class Temporary {
 public:
  Temporary() {
    char path[] = "/tmp/flambeau-test-XXXXXX";
    descriptor_ = mkstemp(path);
    unlink(path);
  }
  Temporary(const Temporary&) = delete;
  ~Temporary() { close(descriptor_); }
  int operator*() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

TEST(crc_of_a_known_text) {
  CHECK(crc32(0, "123456789", 9) == 0xCBF43926u);
  CHECK(crc32(0, nullptr, 0) == 0);
}

TEST(crc_of_any_length_and_alignment) {
  const std::vector<unsigned char> bytes = random_bytes(3000);
  std::mt19937 random(3);
  for (size_t length = 0; length < 1200; ++length) {
    const size_t start = random() % 1000;
    const auto before = static_cast<uint32_t>(random());
    const uint32_t expected = slow_crc(before, &bytes[start], length);
    CHECK(crc32(before, &bytes[start], length) == expected);
    const size_t half = random() % (length + 1);
    const uint32_t first = crc32(before, &bytes[start], half);
    const uint32_t second = crc32(0, &bytes[start + half], length - half);
    CHECK(crc32(first, &bytes[start + half], length - half) == expected);
    CHECK(crc32_combined(first, second, length - half) == expected);
  }
}

TEST(files_hold_what_was_written) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100'000}, (size_t{5} << 20) + 3}) {
    const Temporary file;
    const std::vector<unsigned char> bytes = random_bytes(size);
    const Transfer written = write_file(*file, 7, bytes.data(), size);
    CHECK(written.error == 0);
    CHECK(written.crc == slow_crc(0, bytes.data(), size));
    std::vector<unsigned char> found(size);
    const Transfer read = read_file(*file, 7, found.data(), size);
    CHECK(read.error == 0 && !read.ended);
    CHECK(read.crc == written.crc);
    CHECK(found == bytes);
    found.resize(size + 1);
    CHECK(read_file(*file, 7, found.data(), size + 1).ended);
  }
}

TEST(what_fails_is_said) {
  char byte = 0;
  CHECK(read_file(-1, 0, &byte, 1).error == EBADF);
  CHECK(write_file(-1, 0, &byte, 1).error == EBADF);
  CHECK(!map_file(-1, 4096));
}

TEST(mapped_files_are_this_process_s) {
  const Temporary file;
  const std::vector<unsigned char> bytes = random_bytes(10'000);
  write_file(*file, 0, bytes.data(), bytes.size());
  Ref<Storage> part;
  {
    const Ref<Storage> whole = map_file(*file, bytes.size());
    CHECK(whole->bytes() == bytes.size());
    CHECK(std::memcmp(whole->data(), bytes.data(), bytes.size()) == 0);
    part = storage_part(whole, 100, 50);
    CHECK(static_cast<char*>(part->data()) == static_cast<char*>(whole->data()) + 100);
    CHECK_THROWS(storage_part(whole, 10'001, 0));
    CHECK_THROWS(storage_part(whole, 9'990, 11));
    CHECK_THROWS(storage_part(whole, SIZE_MAX, 2));
  }
  // The part holds the mapping.
  std::memset(part->data(), 5, part->bytes());
  std::vector<unsigned char> found(bytes.size());
  read_file(*file, 0, found.data(), found.size());
  CHECK(found == bytes);
  CHECK(map_file(*file, 0)->bytes() == 0);
}
