#pragma once

// oneDNN as the kernels see it: one engine, one stream per thread, and a bounded cache of
// primitives, whose creation (it generates machine code) costs up to milliseconds.

#if __has_include(<dnnl.hpp>)
#define FLAMBEAU_HAS_ONEDNN 1
#include <dnnl.hpp>

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/shape.h"

namespace flambeau::cpu::onednn {

dnnl::engine& engine();
dnnl::stream& stream();

/// FNV-1a over the integers of a key.
struct KeyHash {
  size_t operator()(const Shape& key) const {
    uint64_t hash = 1469598103934665603u;
    for (const int64_t value : key) hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211u;
    return static_cast<size_t>(hash);
  }
};

/// The most recently used values for up to `capacity` keys. Thread-safe; a value lives while
/// somebody uses it.
template <class Value>
class Cache {
 public:
  explicit Cache(size_t capacity) : capacity_(capacity) {}

  /// The value for `key`, made by `make()` outside the lock when it is missing.
  template <class Make>
  std::shared_ptr<const Value> get(const Shape& key, Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = index_.find(key); found != index_.end()) {
        order_.splice(order_.begin(), order_, found->second);
        return found->second->second;
      }
    }
    auto value = std::make_shared<const Value>(make());
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) return found->second->second;
    order_.emplace_front(key, value);
    index_.emplace(key, order_.begin());
    if (order_.size() > capacity_) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    return value;
  }

 private:
  using Entry = std::pair<Shape, std::shared_ptr<const Value>>;
  const size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> order_;  // most recent first
  std::unordered_map<Shape, typename std::list<Entry>::iterator, KeyHash> index_;
};

}  // namespace flambeau::cpu::onednn
#endif
