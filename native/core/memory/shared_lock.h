#pragma once

namespace flambeau {

/// Holds what guards the tables of shared memory: files, storages, the aliases of storages. Under
/// it nothing is waited for, and a fork in another thread leaves the child an open lock.
class SharedLock {
 public:
  SharedLock();
  ~SharedLock();
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;
};

}  // namespace flambeau
