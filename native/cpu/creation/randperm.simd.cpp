#include <bit>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random/generator.h"
#include "core/types/element_types.h"
#include "cpu/dtype_switch.h"
#include "cpu/random_fill.h"
#include "kernels/random.h"

/// Long permutations are thrown into buckets at random, each of which is shuffled on its own: all
/// orders are as likely as by one shuffle (C. Rao 1961, M. Sandelius 1962), and a bucket fits into
/// a fast cache. Numbers belong to places, so that threads change nothing.
namespace flambeau::cpu::FLAMBEAU_ISA {
namespace {

constexpr uint32_t kShuffling = 0, kThrowing = 1;  // draws of one element
constexpr int64_t kOneShuffle = int64_t{1} << 15, kBucket = int64_t{1} << 13;
constexpr int64_t kMostBuckets = 4096, kMostChunks = 64, kLeastChunk = int64_t{1} << 15;

/// Fisher and Yates, from the front: elements [begin, begin + count) of the permutation.
template <class Index>
void shuffle(Index* order, int64_t begin, int64_t count, const RandomStream& stream) {
  constexpr int64_t kPiece = 512;
  alignas(64) char buffer[kPiece * 8 + detail::kDrawSlack];
  for (int64_t done = 0; done < count; done += kPiece) {
    const int64_t piece = std::min(kPiece, count - done);
    const char* const drawn =
        detail::fill_draw(buffer, detail::DrawKind::bits, stream, kShuffling, begin + done, piece);
    for (int64_t i = 0; i < piece; ++i) {
      uint64_t bits;
      memcpy(&bits, drawn + i * 8, sizeof bits);
      const int64_t at = begin + done + i, left = count - done - i;
      std::swap(order[at], order[integer_in_range(bits, at, static_cast<uint64_t>(left))]);
    }
  }
}

/// The bucket of each of elements [begin, end), where `begin` is a multiple of 4.
void throw_elements(uint16_t* bucket, int64_t begin, int64_t end, int bits,
                    const RandomStream& stream) {
  constexpr int64_t kWords = 1024;
  alignas(64) uint32_t words[kWords];
  for (; begin < end; begin += kWords) {
    detail::fill_words(words, stream, static_cast<uint64_t>(begin / 4), kThrowing, kWords / 4);
    const int64_t count = std::min(kWords, end - begin);
    for (int64_t i = 0; i < count; ++i)
      bucket[begin + i] = static_cast<uint16_t>(words[i] >> (32 - bits));
  }
}

template <class Index>
void permute_in_buckets(Index* order, int64_t n, const RandomStream& stream) {
  const auto buckets = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(n / kBucket, 2, kMostBuckets))));
  const int bits = std::countr_zero(static_cast<uint64_t>(buckets));
  const int64_t chunk = (std::max(kLeastChunk, n / kMostChunks + 1) + 3) / 4 * 4;
  const int64_t chunks = (n + chunk - 1) / chunk;
  std::vector<uint16_t> bucket(static_cast<size_t>(n));
  std::vector<int64_t> places(static_cast<size_t>(chunks * buckets));  // first of each chunk
  const auto each_chunk = [&](const auto& body) {
    parallel_for(0, chunks, 1, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c)
        body(places.data() + c * buckets, c * chunk, std::min(n, (c + 1) * chunk));
    });
  };
  each_chunk([&](int64_t* counts, int64_t begin, int64_t end) {
    throw_elements(bucket.data(), begin, end, bits, stream);
    for (int64_t i = begin; i < end; ++i) ++counts[bucket[static_cast<size_t>(i)]];
  });
  std::vector<int64_t> ends(static_cast<size_t>(buckets));
  int64_t total = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    for (int64_t c = 0; c < chunks; ++c)
      total += std::exchange(places[static_cast<size_t>(c * buckets + b)], total);
    ends[static_cast<size_t>(b)] = total;
  }
  each_chunk([&](int64_t* place, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      order[place[bucket[static_cast<size_t>(i)]]++] = static_cast<Index>(i);
  });
  parallel_for(0, buckets, 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t begin = b == 0 ? 0 : ends[static_cast<size_t>(b - 1)];
      shuffle(order, begin, ends[static_cast<size_t>(b)] - begin, stream);
    }
  });
}

template <class Index, class T>
void permute(T* out, int64_t n, const RandomStream& stream) {
  std::vector<Index> order(static_cast<size_t>(n));
  if (n <= kOneShuffle) {
    std::iota(order.begin(), order.end(), Index(0));
    shuffle(order.data(), 0, n, stream);
  } else {
    permute_in_buckets(order.data(), n, stream);
  }
  parallel_for(0, n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = from_number<T>(static_cast<int64_t>(order[static_cast<size_t>(i)]));
  });
}

/// How many of 0, 1, 2, ... have a number of their own.
template <class T>
int64_t most_integers() {
  if constexpr (std::is_integral_v<T>) {
    constexpr int64_t largest = std::numeric_limits<T>::max();
    return largest == std::numeric_limits<int64_t>::max() ? largest : largest + 1;
  }
  using Real = RealOf<T>;
  constexpr int digits = std::is_same_v<Real, float16>    ? 11
                         : std::is_same_v<Real, bfloat16> ? 8
                                                          : std::numeric_limits<Real>::digits;
  return (int64_t{1} << digits) + 1;
}

}  // namespace

void randperm(const Tensor& result, int64_t n, Generator* generator, std::optional<DType>,
              std::optional<Device>) {
  const RandomStream stream = generator_or_default(generator).reserve(counters_for(n));
  visit_dtype(result.dtype(), [&]<class T>() {
    const int64_t most = most_integers<T>();
    check(n <= most, ErrorKind::runtime, "randperm(): argument n = ", n, " is too large for ",
          result.dtype(), ", which holds the integers from 0 to below ", most);
    if (n <= std::numeric_limits<int32_t>::max())
      return permute<int32_t>(result.data<T>(), n, stream);
    permute<int64_t>(result.data<T>(), n, stream);
  });
}

}  // namespace flambeau::cpu::FLAMBEAU_ISA
