// Locks that survive a fork. The child of a fork has only the thread that forked: a lock that another thread held is
// held for ever, and what it guards may be half written.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace tokcli {

// Guards what is written in no time, of all objects: a fork waits until nobody holds it.
class BriefLock {
 public:
  BriefLock();
  ~BriefLock();
  BriefLock(const BriefLock&) = delete;
  BriefLock& operator=(const BriefLock&) = delete;
};

// Makes what the locks below need, before there are threads.
void prepare_locks();

// Returns how many forks have led to this process since the locks were prepared. Where the number has changed, all other
// threads are gone.
unsigned forks();

// A lock that the child of a fork repairs.
class ForkedLock {
 public:
  ForkedLock(const ForkedLock&) = delete;
  ForkedLock& operator=(const ForkedLock&) = delete;

 protected:
  ForkedLock();
  ~ForkedLock();

 private:
  friend struct AllLocks;
  virtual void repair() noexcept = 0;
  ForkedLock *previous_ = nullptr, *next_ = nullptr;
};

// A lock of what many threads read for long and one writes at times. Whoever has it exclusively holds a BriefLock while
// it writes: so nothing is half written in the child of a fork, where nobody has the lock.
class ReadersLock final : public ForkedLock {
 public:
  // Exclusively. std::logic_error where this thread reads already: in a signal handler that runs in a call.
  void lock();
  void unlock() { mutex_.unlock(); }

  // The lock, shared with other readers for as long as this object lives.
  class Reading {
   public:
    explicit Reading(ReadersLock& lock) : lock_(lock), before_(innermost) {
      lock_.mutex_.lock_shared();
      innermost = this;
    }
    ~Reading() {
      innermost = before_;
      lock_.mutex_.unlock_shared();
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    friend class ReadersLock;
    static inline constinit thread_local const Reading* innermost = nullptr;
    ReadersLock& lock_;
    const Reading* before_;
  };

 private:
  void repair() noexcept override;
  std::shared_mutex mutex_;
};

// A lock of an object that one thread at a time works with, maybe for long. Where a thread had it that a fork has left
// behind, or that has ended in the middle, the object is broken: whoever wants the lock gets std::logic_error.
class ObjectLock final : public ForkedLock {
 public:
  void lock();
  bool try_lock();
  void unlock();
  // Says that the object was left half changed.
  void set_broken() { is_broken_ = true; }

 private:
  void repair() noexcept override;
  void check() const;
  void take();
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  std::atomic<bool> is_broken_{false};
};

}  // namespace tokcli
