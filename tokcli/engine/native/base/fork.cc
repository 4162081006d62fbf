// What happens to locks in a fork: see fork.h.
#include "base/fork.h"

#include <new>
#include <stdexcept>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace tokcli {

// All locks there are, in a list that the brief lock guards.
struct AllLocks {
  std::mutex brief;
  ForkedLock* first = nullptr;
  std::atomic<unsigned> forks{0};

  static AllLocks& get() {
    static AllLocks* const all = new AllLocks();  // never freed: threads may run to the very end of the process
    return *all;
  }
  AllLocks() {
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork([] { get().brief.lock(); }, [] { get().brief.unlock(); }, &in_child);
#endif
  }
  static void in_child() {
    ++get().forks;
    for (ForkedLock* lock = get().first; lock != nullptr; lock = lock->next_) lock->repair();
    get().brief.unlock();
  }
  void add(ForkedLock& lock) {
    const std::lock_guard guard(brief);
    lock.next_ = first;
    if (first != nullptr) first->previous_ = &lock;
    first = &lock;
  }
  void remove(ForkedLock& lock) {
    const std::lock_guard guard(brief);
    (lock.previous_ == nullptr ? first : lock.previous_->next_) = lock.next_;
    if (lock.next_ != nullptr) lock.next_->previous_ = lock.previous_;
  }
};

void prepare_locks() { AllLocks::get(); }
unsigned forks() { return AllLocks::get().forks; }

BriefLock::BriefLock() { AllLocks::get().brief.lock(); }
BriefLock::~BriefLock() { AllLocks::get().brief.unlock(); }

ForkedLock::ForkedLock() { AllLocks::get().add(*this); }
ForkedLock::~ForkedLock() { AllLocks::get().remove(*this); }

void ReadersLock::lock() {
  for (const Reading* at = Reading::innermost; at != nullptr; at = at->before_) {
    if (&at->lock_ == this) throw std::logic_error("this thread is in the middle of a call that reads");
  }
  mutex_.lock();
}
// A signal handler that runs in a call that reads may fork: then this thread goes on reading.
void ReadersLock::repair() noexcept {
  new (&mutex_) std::shared_mutex();
  for (const Reading* at = Reading::innermost; at != nullptr; at = at->before_) {
    if (&at->lock_ == this) mutex_.lock_shared();
  }
}

void ObjectLock::check() const {
  if (is_broken_) throw std::logic_error("this object was left in the middle of a call; make a new one");
  if (owner_ == std::this_thread::get_id()) throw std::logic_error("this thread is in the middle of a call of this object");
}
void ObjectLock::lock() {
  check();
  mutex_.lock();
  take();
}
bool ObjectLock::try_lock() {
  check();
  if (!mutex_.try_lock()) return false;
  take();
  return true;
}
void ObjectLock::take() {
  if (is_broken_) {  // by the thread that had it meanwhile
    mutex_.unlock();
    check();
  }
  owner_ = std::this_thread::get_id();
}
void ObjectLock::unlock() {
  owner_ = std::thread::id();
  mutex_.unlock();
}
void ObjectLock::repair() noexcept {
  if (owner_ == std::this_thread::get_id()) return;  // a signal handler in the middle of a call of it has forked
  if (mutex_.try_lock()) mutex_.unlock();
  else is_broken_ = true;
}

}  // namespace tokcli
