// Ids (uint32), and buffers that grow at their end: of ids for encoding, of bytes for decoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/memory.h"

namespace tokcli {

constexpr uint32_t kNone = 0xFFFFFFFF;  // no id, no token, no number: each function that returns it says which

// Moves `data` to where there is room for `more` items after the first `size`, and sets `capacity` to all the room there.
// Throws std::bad_alloc, and then nothing has changed.
void* grown(void* data, size_t size, size_t more, size_t item_size, size_t* capacity);
// Frees `bytes` of memory that `grown` has returned. One block of 1 to 32 MB is kept, and is what the next buffer of about
// this size gets: a new one has no pages, and making those of the ids takes a tenth of a second pass over a text. (glibc keeps
// blocks of up to 32 MB too, but from the second one on.) Null is nothing.
void give_back(void* data, size_t bytes) noexcept;

// Items in memory that grows without being cleared first (which std::vector and std::string would do).
template <class T>
class GrowingBuffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  GrowingBuffer() = default;
  GrowingBuffer(GrowingBuffer&& other) noexcept { *this = std::move(other); }
  ~GrowingBuffer() { give_back(data_, capacity_ * sizeof(T)); }
  GrowingBuffer& operator=(GrowingBuffer&& other) noexcept {
    if (this == &other) return *this;
    give_back(data_, capacity_ * sizeof(T));
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    pages_ = std::exchange(other.pages_, {});
    return *this;
  }
  // Makes room for `more` items after those that are here, and returns where they go.
  T* reserve(size_t more) {
    if (capacity_ - size_ < more) grow(more);
    return data_ + size_;
  }
  // Declares that `count` items have been written to the reserved room.
  void commit(size_t count) { size_ += count; }
  // Makes the pages of what is written next: to be called now and then while much is (see base/memory.h).
  void make_pages_ahead() { pages_.reach(data_, size_ * sizeof(T), (capacity_ - size_) * sizeof(T)); }
  // Takes the last item away.
  void pop() { --size_; }
  void clear() { size_ = 0; }
  // Takes all items after the first `size` away.
  void cut(size_t size) { size_ = size; }
  // Returns room for `count` items from the beginning on, for a buffer of which nothing else is used.
  T* room(size_t count) {
    if (capacity_ < count) grow(count);
    return data_;
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  void append(const GrowingBuffer& other) {
    if (other.size() == 0) return;
    std::memcpy(reserve(other.size()), other.data(), other.size() * sizeof(T));
    commit(other.size());
  }

 private:
  void grow(size_t more) { data_ = static_cast<T*>(grown(data_, size_, more, sizeof(T), &capacity_)); }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
  PagesAhead pages_;
};

using IdBuffer = GrowingBuffer<uint32_t>;
using ByteBuffer = GrowingBuffer<uint8_t>;

inline void append(std::string_view text, ByteBuffer* out) {
  if (text.empty()) return;
  std::memcpy(out->reserve(text.size()), text.data(), text.size());
  out->commit(text.size());
}

}  // namespace tokcli
