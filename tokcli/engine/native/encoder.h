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
#include "pieces.h"
#include "text.h"
#include "vocabulary.h"

namespace tokcli {

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
  uint64_t count = 0;         // ids
  bool missing_byte = false;  // a byte is no token: the ids are not to be used
  bool surrogate = false;     // half a surrogate pair stands in the text: neither
};

// One thread's view: a vocabulary, caches of pieces, and memory for a batch of them. Not for two threads at once.
//
// Pieces go through several rounds, a batch at a time, and each round is a short loop of its own: find where they end,
// hash them, look into the cache, look those that are missing up in the vocabulary, merge those that are no token, write
// the ids. So the memory system works on many cache lines at once, and a branch that is as good as random (is it cached?
// is it a token?) is no branch but a list that grows by one or by none.
class Encoder {
 public:
  explicit Encoder(const Vocabulary& vocabulary)
      : vocabulary_(vocabulary), cache_(kPairs), long_cache_(kLongSlots), batch_(std::make_unique<Batch>()) {}

  // Appends the ids of a text to `out`; only counts them where it is null.
  Result encode(Family family, const Text& text, IdBuffer* out);
  // The same for one piece, which is not split.
  Result encode_piece(Bytes piece, IdBuffer* out);

 private:
  // The ids of a piece: up to three stand here, more of them `at` another place.
  struct Ids {
    uint32_t count;
    uint32_t ids[3];
  };
  static constexpr uint32_t kMostIds = 3;
  // A piece of at most 15 bytes and its ids, half a cache line. More than three ids are not kept here: they are rare.
  struct alignas(32) Slot {
    Key key;
    Ids ids;
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

    bool holds(uint64_t other, const uint8_t* p, size_t length) const {
      return hash == other && size == length && std::memcmp(bytes, p, length) == 0;
    }
  };
  static constexpr size_t kMostLongBytes = sizeof(LongSlot::bytes), kMostLongIds = 16;
  static constexpr unsigned kLongBits = 13;  // 1 MB
  static constexpr size_t kLongSlots = size_t{1} << kLongBits;

  static constexpr size_t kBatch = 256, kRoom = kBatch + kWindow;  // pieces; what a batch may come to
  struct Batch {
    const uint8_t* starts[kRoom + 1];  // of each piece, and the end of the last one
    Key keys[kRoom];                   // 0 for pieces above 15 bytes
    uint64_t hashes[kRoom];
    Ids ids[kRoom];
    uint32_t missing[kRoom], longer[kRoom];  // numbers of pieces: not in the cache; above 15 bytes
    MergeJob jobs[kRoom];
    uint32_t job_piece[kRoom];
  };

  void encode_utf8(Family family, Bytes text, IdBuffer* out, Result& result);
  void hash_pieces(size_t pieces, const uint8_t* end);
  void probe(size_t pieces);
  void look_up_missing();
  void look_up_longer(const uint8_t* end);
  void keep(const MergeJob& job, uint32_t piece);
  void add_job(uint32_t piece);
  bool drop_missing(MergeJob& job) const;
  void set_ids(uint32_t piece, const uint32_t* ids, uint32_t count);
  LongSlot& long_slot(uint64_t hash) { return long_cache_[high_bits(hash, kLongBits)]; }

  const Vocabulary& vocabulary_;
  ZeroedArray<Pair> cache_;
  ZeroedArray<LongSlot> long_cache_;
  std::unique_ptr<Batch> batch_;
  size_t missing_ = 0, longer_ = 0, jobs_ = 0;
  std::vector<uint8_t> utf8_;   // of a part of a text that is none
  std::vector<uint32_t> more_;  // ids of pieces that have more than three
  size_t more_used_ = 0;
  MergeScratch scratch_;
};

}  // namespace tokcli
