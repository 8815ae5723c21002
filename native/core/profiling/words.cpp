#include "core/profiling/words.h"

#include <algorithm>
#include <cstring>

namespace flambeau::profiling {

namespace {

constexpr size_t words_of(size_t bytes) {
  return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

Shapes shapes_of(std::span<const uint64_t> words) {
  Shapes shapes;
  for (size_t i = 0; i < words.size(); i += 1 + words[i]) {
    const auto sizes = words.subspan(i + 1, words[i]);
    shapes.emplace_back(sizes.begin(), sizes.end());
  }
  return shapes;
}

}  // namespace

size_t detail_words(const Shapes& shapes, std::string_view stack) {
  size_t words = shapes.empty() ? 0 : 1 + shapes.size();
  for (const auto& shape : shapes) words += shape.size();
  return words + (stack.empty() ? 0 : 1 + words_of(stack.size()));
}

void write_details(uint64_t* words, const Shapes& shapes, std::string_view stack) {
  if (!shapes.empty()) {
    *words++ = first_word(Word::shapes, detail_words(shapes, {}) - 1);
    for (const auto& shape : shapes) {
      *words++ = shape.size();
      words = std::copy(shape.begin(), shape.end(), words);
    }
  }
  if (!stack.empty()) {
    *words++ = first_word(Word::stack, stack.size());
    std::memcpy(words, stack.data(), stack.size());
  }
}

void Reader::read(std::span<const uint64_t> words) {
  while (!words.empty()) words = words.subspan(read_group(words));
}

/// The words that it took.
size_t Reader::read_group(std::span<const uint64_t> words) {
  const auto what = static_cast<Word>(words[0] & ((uint64_t{1} << kWordBits) - 1));
  const uint64_t rest = words[0] >> kWordBits;
  const auto time = static_cast<int64_t>(rest);
  switch (what) {
    case Word::call:
    case Word::backward:
    case Word::engine:
    case Word::range: {
      const auto index = static_cast<int64_t>(begun_.size());
      Event& event = add(static_cast<Kind>(what), reinterpret_cast<const char*>(words[1]), time);
      if (const auto end = ended_elsewhere_.find(index); end != ended_elsewhere_.end()) {
        event.end = end->second;
      }
      begun_.push_back(events_.size() - 1);
      innermost_ = static_cast<int64_t>(events_.size()) - 1;
      return 2;
    }
    case Word::memory: {
      Event& event = add(Kind::memory, "[memory]", time);
      event.end = time;
      event.address = reinterpret_cast<const void*>(words[1]);
      event.bytes = static_cast<int64_t>(words[2]);
      return 3;
    }
    case Word::ends:
      if (words[1] < begun_.size()) {
        Event& event = events_[begun_[words[1]]];
        if (event.end == 0) event.end = time;
      }
      return 2;
    case Word::shapes:
      details().shapes = shapes_of(words.subspan(1, rest));
      return 1 + rest;
    case Word::stack:
      details().stack.assign(reinterpret_cast<const char*>(&words[1]), rest);
      return 1 + words_of(rest);
  }
  return words.size();
}

/// An event inside the innermost that has not ended by then: ranges of users may end in another
/// order than they began in.
Event& Reader::add(Kind kind, const char* name, int64_t time) {
  const auto has_ended = [&](const Event& event) { return event.end != 0 && event.end <= time; };
  while (innermost_ >= 0 && has_ended(events_[static_cast<size_t>(innermost_)])) {
    innermost_ = events_[static_cast<size_t>(innermost_)].parent;
  }
  return events_.emplace_back(
      Event{.kind = kind, .parent = innermost_, .start = time, .name = name});
}

Details& Reader::details() {
  auto& details = events_.back().details;
  if (!details) details = std::make_unique<Details>();
  return *details;
}

}  // namespace flambeau::profiling
