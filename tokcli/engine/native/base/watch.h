// Long work that can be ended early: by a signal (Ctrl-C), or because another thread of the same call has failed.
//
// Loops say now and then how much they have done. Whoever waits for the work gives a Watch, whose `poll` is then called
// a few times a second in the thread that made it, and may throw. Exceptions leave every object of the native code as it
// can be used again, or marked as broken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace tokcli {

// Thrown in a thread whose work nobody wants any more; another thread of the call has the reason.
struct Stopped {};

class Watch {
 public:
  // Is asked for by the thread that made the Watch, at most every kBetweenPolls. It may throw.
  class Poll {
   public:
    virtual void poll() = 0;

   protected:
    ~Poll() = default;
  };
  static constexpr std::chrono::milliseconds kBetweenPolls{50};

  explicit Watch(Poll* poll) : poll_(poll) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  // Polls, if the time has come; only for the thread that made this.
  void poll() {
    if (poll_ == nullptr || Clock::now() < last_ + kBetweenPolls) return;
    poll_->poll();
    last_ = Clock::now();
  }
  void stop() { is_stopped_.store(true, std::memory_order_relaxed); }
  bool is_stopped() const { return is_stopped_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  Poll* poll_;
  Clock::time_point last_{};
  std::atomic<bool> is_stopped_{false};
};

// A Watch in one of the threads that it watches, for as long as this object lives.
class Watched {
 public:
  Watched(Watch* watch, bool polls) : watch_(watch), polls_(polls), before_(current) { current = this; }
  ~Watched() { current = before_; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  static Watch* watch() { return current == nullptr ? nullptr : current->watch_; }

 private:
  friend void work_done(size_t bytes);
  static constexpr ptrdiff_t kBetweenLooks = ptrdiff_t{1} << 19;  // bytes of text: 1 to 50 ms
  [[gnu::noinline, gnu::cold]] void look() {
    left_ = kBetweenLooks;
    if (watch_ == nullptr) return;
    if (watch_->is_stopped()) throw Stopped();
    if (polls_) watch_->poll();
  }

  static inline constinit thread_local Watched* current = nullptr;
  Watch* watch_;
  bool polls_;
  Watched* before_;
  ptrdiff_t left_ = kBetweenLooks;
};

// Says that about as much work is done as encoding so many bytes takes. Throws what ends the work.
inline void work_done(size_t bytes) {
  Watched* const watched = Watched::current;
  if (watched != nullptr && (watched->left_ -= static_cast<ptrdiff_t>(bytes)) < 0) [[unlikely]] watched->look();
}

constexpr size_t kUncounted = 256;  // bytes that a search looks at before it counts as work

// For loops with little to do in each turn: adds up what they have done.
class Pace {
 public:
  void step(size_t bytes = 1) {
    if ((done_ += bytes) < kTogether) [[likely]] return;
    work_done(done_);
    done_ = 0;
  }

 private:
  static constexpr size_t kTogether = size_t{1} << 15;
  size_t done_ = 0;
};

}  // namespace tokcli
