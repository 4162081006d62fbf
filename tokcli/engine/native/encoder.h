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

struct Result {
  uint64_t count = 0;          // ids
  bool missing_byte = false;   // a byte is no token: the ids are not to be used
  const uint8_t* first = nullptr;  // the piece it stands in
};

// One thread's view: a vocabulary, a cache, and memory for merging. Not for two threads at once.
class Encoder {
 public:
  explicit Encoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary), cache_(kCacheSlots), long_cache_(kLongSlots) {}

  // Appends the ids of a text (UTF-8) to `out`; only counts them where it is null.
  Result encode(Family family, Bytes text, IdBuffer* out);
  // The same for one piece, which is not split.
  Result encode_piece(Bytes piece, IdBuffer* out);

 private:
  // A piece of at most 15 bytes and its ids, half a cache line. Two thirds of the distinct pieces of a text occur once,
  // so that newer ones simply replace older ones. More than three ids are not kept: such pieces are rare.
  struct alignas(32) Slot {
    Key key;
    uint32_t count = 0;
    uint32_t ids[3] = {};
  };
  static constexpr size_t kCacheSlots = size_t{1} << 16;  // 2 MB

  // Longer pieces, and those of more ids: words of scripts that take three bytes a letter.
  struct alignas(64) LongSlot {
    uint64_t hash = 0;
    uint8_t size = 0, count = 0;
    uint8_t bytes[54] = {};
    uint32_t ids[16] = {};
  };
  static constexpr size_t kLongSlots = size_t{1} << 13;  // 1 MB

  template <Family family, bool counting>
  Result run(Bytes text, IdBuffer* out);
  template <bool counting>
  size_t look_up(const uint8_t* p, size_t size, size_t readable, const Key& key, uint64_t hash, Slot& slot,
                 uint32_t* out, Result& result);
  template <bool counting>
  size_t look_up_long(const uint8_t* p, size_t size, size_t readable, uint64_t hash, uint32_t* out, Result& result);
  size_t merge_long(const uint8_t* p, size_t size, size_t readable, bool counting, uint32_t* out, Result& result);

  const Vocabulary& vocabulary_;
  std::vector<Slot> cache_;
  std::vector<LongSlot> long_cache_;
  MergeScratch scratch_;
  std::vector<uint32_t> merged_;
};

}  // namespace tokcli
