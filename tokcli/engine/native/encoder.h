// From text to ids: pieces from a scanner, ids from a cache of pieces, from the vocabulary, or from merging.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "merge.h"
#include "scan.h"
#include "vocabulary.h"

namespace tokcli {

using Bytes = std::span<const uint8_t>;

void* allocate(size_t size);  // zeroed, aligned to a page; bad_alloc
void release(void* p, size_t size);

// Ids in memory that grows without being cleared first.
class IdBuffer {
 public:
  // Room for `more` ids behind those there are.
  uint32_t* reserve(size_t more) {
    if (capacity_ - size_ < more) grow(more);
    return data_.get() + size_;
  }
  void commit(size_t count) { size_ += count; }
  const uint32_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  void append(const IdBuffer& other);

 private:
  void grow(size_t more);
  struct Free {
    void operator()(uint32_t* p) const { std::free(p); }
  };
  std::unique_ptr<uint32_t, Free> data_;
  size_t size_ = 0, capacity_ = 0;
};

// Memory that begins as zeros, in large pages where the system has them: a cache is read at random, and with pages of
// 4 kB every second read waits for an address to be translated.
template <class T>
class ZeroedArray {
 public:
  explicit ZeroedArray(size_t count) : data_(static_cast<T*>(allocate(count * sizeof(T))), Free{count * sizeof(T)}) {}
  T& operator[](size_t i) { return data_[i]; }

 private:
  struct Free {
    size_t size;
    void operator()(T* p) const { release(p, size); }
  };
  std::unique_ptr<T[], Free> data_;
};

struct Result {
  uint64_t count = 0;          // ids
  bool missing_byte = false;   // a byte is no token: the ids are not to be used
  const uint8_t* first = nullptr;  // the piece it stands in
};

// One thread's view: a vocabulary, a cache, and memory for merging. Not for two threads at once.
class Encoder {
 public:
  explicit Encoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary), cache_(kPairs), long_cache_(kLongSlots) {}

  // Appends the ids of a text (UTF-8) to `out`; only counts them where it is null.
  Result encode(Family family, Bytes text, IdBuffer* out);
  // The same for one piece, which is not split.
  Result encode_piece(Bytes piece, IdBuffer* out);

 private:
  // A piece of at most 15 bytes and its ids, half a cache line. More than three ids are not kept here: they are rare.
  struct alignas(32) Slot {
    Key key;
    uint32_t count;
    uint32_t ids[3];
  };
  // Two thirds of the distinct pieces of a text occur once. So a new piece only takes the second place of its line, and
  // the first when it is seen again: what is frequent is not driven out by what is new.
  struct alignas(64) Pair {
    Slot frequent, recent;
  };
  static constexpr unsigned kPairBits = 15;  // 2 MB
  static constexpr size_t kPairs = size_t{1} << kPairBits;

  // Longer pieces, and those of more ids: words of scripts that take three bytes a letter.
  struct alignas(64) LongSlot {
    uint64_t hash;
    uint8_t size, count;
    uint8_t bytes[54];
    uint32_t ids[16];
  };
  static constexpr unsigned kLongBits = 13;  // 1 MB
  static constexpr size_t kLongSlots = size_t{1} << kLongBits;

  template <Family family, bool counting>
  Result run(Bytes text, IdBuffer* out);
  template <bool counting>
  size_t look_up(const uint8_t* p, size_t size, const Key& key, uint64_t hash, Slot& slot, uint32_t* out,
                 Result& result);
  template <bool counting>
  size_t look_up_long(const uint8_t* p, size_t size, size_t readable, uint64_t hash, uint32_t* out, Result& result);
  size_t merge_long(const uint8_t* p, size_t size, bool counting, uint32_t* out, Result& result);

  const Vocabulary& vocabulary_;
  ZeroedArray<Pair> cache_;
  ZeroedArray<LongSlot> long_cache_;
  MergeScratch scratch_;
  std::vector<uint32_t> merged_;
};

}  // namespace tokcli
