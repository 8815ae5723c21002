#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/profiling/recorder.h"
#include "core/profiling/stream.h"

/// How a thread writes down what happens, as words of a Stream, and how they are read. The lowest
/// bits of a group's first word say what it is, the others when, in ticks:
///
///     call, backward, engine, range   name: it begins; words are in the order of Kind
///     memory                          address, bytes
///     ends                            index of what ends, counted in the order of beginnings
///     shapes, stack                   follow what begins, with their length in place of a time
namespace flambeau::profiling {

enum class Word : uint64_t { call, backward, engine, range, memory, ends, shapes, stack };
inline constexpr int kWordBits = 3;

FLAMBEAU_INLINE uint64_t first_word(Word what, uint64_t rest) {
  return rest << kWordBits | static_cast<uint64_t>(what);
}

/// Shapes and a stack, as they follow what begins: how many words, and these.
size_t detail_words(const Shapes& shapes, std::string_view stack);
void write_details(uint64_t* words, const Shapes& shapes, std::string_view stack);

/// Times of what another thread has ended, by index.
using Ends = std::unordered_map<int64_t, int64_t>;

/// Turns words of one thread, in their order, into events. Times stay ticks.
class Reader {
 public:
  Reader(std::vector<Event>& events, const Ends& ended_elsewhere)
      : events_(events), ended_elsewhere_(ended_elsewhere) {}
  void read(std::span<const uint64_t> words);

 private:
  size_t read_group(std::span<const uint64_t> words);
  Event& add(Kind kind, const char* name, int64_t time);
  Details& details();

  std::vector<Event>& events_;
  const Ends& ended_elsewhere_;
  std::vector<size_t> begun_;  // where in `events_` what began is
  int64_t innermost_ = -1;     // of what has not ended
};

}  // namespace flambeau::profiling
