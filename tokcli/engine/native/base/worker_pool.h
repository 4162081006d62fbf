// Workers that are costly to make and that one thread at a time may use, such as encoders: those that are not in use
// wait for the next text.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fork.h"

namespace tokcli {

// Makes a Worker of a Source where none waits. A Source that is a reference must live as long as the pool.
template <class Worker, class Source>
class WorkerPool {
 public:
  explicit WorkerPool(Source source) : source_(std::forward<Source>(source)) { idle_.reserve(kMostIdle); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  const std::remove_reference_t<Source>& source() const { return source_; }

  // A worker for one thread, which goes back to the pool at the end.
  class Lease {
   public:
    explicit Lease(WorkerPool& pool) : pool_(pool) {
      {
        const BriefLock lock;
        if (!pool.idle_.empty()) {
          worker_ = std::move(pool.idle_.back());
          pool.idle_.pop_back();
          set_idle(false);
        }
      }
      if (!worker_) worker_ = std::make_unique<Worker>(pool.source_);
    }
    ~Lease() {
      const BriefLock lock;
      if (pool_.idle_.size() == kMostIdle) return;
      set_idle(true);
      pool_.idle_.push_back(std::move(worker_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Worker* operator->() const { return worker_.get(); }
    Worker& operator*() const { return *worker_; }

   private:
    // Tells a worker that wants to know whether it is in use; with the BriefLock.
    void set_idle(bool is_idle) {
      if constexpr (requires { worker_->set_idle(is_idle); }) worker_->set_idle(is_idle);
    }
    WorkerPool& pool_;
    std::unique_ptr<Worker> worker_;
  };

 private:
  static constexpr size_t kMostIdle = 8;  // an encoder takes 2 MB, and 2 MB or more for its store
  const Source source_;
  std::vector<std::unique_ptr<Worker>> idle_;  // which never grows beyond what was reserved: giving back cannot fail
};

}  // namespace tokcli
