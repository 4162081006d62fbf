// What several threads make of the parts of something, used in the order of the parts.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tokcli {

// Parts are made in any order and used in theirs, each as soon as all before it are. No thread waits for another: also not
// in the child of a fork, which has no others.
template <class Part>
class PartsInOrder {
 public:
  explicit PartsInOrder(size_t count) : parts_(count) {}
  ~PartsInOrder() {
    for (auto& part : parts_) delete part.load();
  }
  PartsInOrder(const PartsInOrder&) = delete;
  PartsInOrder& operator=(const PartsInOrder&) = delete;

  // Returns memory for a part: that of one that has been used, if there is one.
  std::unique_ptr<Part> place() {
    const std::unique_lock lock(used_mutex_, std::try_to_lock);
    if (!lock || used_.empty()) return std::make_unique<Part>();
    std::unique_ptr<Part> part = std::move(used_.back());
    used_.pop_back();
    return part;
  }
  // Puts part number `i` in its place, and uses what can be used.
  template <class Use>
  void put(size_t i, std::unique_ptr<Part> part, const Use& use) {
    parts_[i] = part.release();
    use_parts(use);
  }
  // Calls use(part) for each part whose turn it is, unless another thread is doing so: that one then sees all that are here.
  // To be called once more when all threads have ended, as a lock may fail although nobody has it.
  template <class Use>
  void use_parts(const Use& use) {
    while (is_next_here()) {
      const std::unique_lock lock(turn_, std::try_to_lock);
      if (!lock) return;
      while (is_next_here()) {
        const size_t next = used_count_++;
        std::unique_ptr<Part> part(parts_[next].exchange(nullptr));
        use(std::as_const(*part));
        if (const std::unique_lock used(used_mutex_, std::try_to_lock); used) used_.push_back(std::move(part));
      }
    }
  }

 private:
  bool is_next_here() const {
    const size_t next = used_count_;
    return next < parts_.size() && parts_[next] != nullptr;
  }
  std::vector<std::atomic<Part*>> parts_;
  std::atomic<size_t> used_count_{0};  // is changed by who has the turn
  std::mutex turn_, used_mutex_;
  std::vector<std::unique_ptr<Part>> used_;
};

}  // namespace tokcli
