// Work that several threads share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/fork.h"
#include "base/memory.h"
#include "base/watch.h"

namespace tokcli {

// What a thread writes all the time begins and ends with a cache line of its own: beside what another thread writes, each
// write would wait for the other processor. (Profile: placing words took twice as long in two threads.)
constexpr size_t kCacheLine = 64;

// Counts the threads that have ended their work.
class Finish {
 public:
  void add_one() {
    const std::lock_guard lock(mutex_);
    ++count_;
    has_changed_.notify_one();
  }
  // Waits for so many threads, but no longer than it takes until a Watch polls again; returns whether they have ended.
  bool wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    return has_changed_.wait_for(lock, Watch::kBetweenPolls, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_changed_;
  size_t count_ = 0;
};

// Calls work(0) to work(count - 1), each in a thread of its own but the first, and throws the first exception among
// theirs; after one of them has thrown, the others end early. Where the system gives no more threads, or no memory to one
// of them, this thread does what is left. Where a signal handler forks meanwhile, the child has no other threads: there
// this throws std::logic_error once its own part is done.
template <class Work>
void in_threads(size_t count, const Work& work) {
  if (count == 1) return work(0);
  if (count == 0) return;
  Watch own(nullptr);
  Watch& watch = Watched::watch() == nullptr ? own : *Watched::watch();
  const Watched here(&watch, true);
  const unsigned forks_before = forks();
  std::vector<std::exception_ptr> errors(count);
  const auto guarded = [&](size_t i) {
    try {
      work(i);
    } catch (const Stopped&) {
    } catch (...) {
      errors[i] = std::current_exception();
      watch.stop();
    }
  };
  std::vector<char> is_left(count);  // (each thread writes its own)
  Finish finish;
  const auto elsewhere = [&](size_t i) {
    if (!prepare_to_throw()) {
      is_left[i] = true;
    } else {
      const Watched there(&watch, false);
      guarded(i);
    }
    finish.add_one();
  };
  auto threads = std::make_unique<std::vector<std::thread>>();
  threads->reserve(count - 1);  // so that only starting a thread can fail below, while other threads run
  size_t started = 1;
  try {
    for (; started < count; ++started) threads->emplace_back(elsewhere, started);
  } catch (...) {  // std::system_error, or std::bad_alloc for what a thread is given
  }
  guarded(0);
  for (; started < count; ++started) guarded(started);
  while (forks() == forks_before && !finish.wait_for(threads->size())) {
    try {
      watch.poll();
    } catch (...) {
      errors[0] = std::current_exception();
      watch.stop();
    }
  }
  if (forks() != forks_before) {
    (void)threads.release();  // nobody may wait for them, nor for what they hold
    if (errors[0]) std::rethrow_exception(errors[0]);
    throw std::logic_error("a fork has left behind the threads that share this call; make it again");
  }
  for (std::thread& thread : *threads) thread.join();
  for (size_t i = 0; i < count; ++i) {
    if (is_left[i]) guarded(i);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace tokcli
