// The vocabulary image: one flat block of bytes that does not depend on its address, with everything that encoding and
// decoding look up. It is built once and kept in a file. Opening it copies nothing: the file is mapped, and a
// Vocabulary points into it.
//
// The image holds the bytes of all tokens in the order of their ids, two hash tables from bytes to id (short tokens are
// in their table themselves, longer ones are compared with the bytes above), and a table of merges: which two tokens
// become which third one. An image is not trusted: its offsets are checked when it is opened, every table is read
// modulo its size, and ids that come from it are checked where they lead somewhere. A wrong image may give wrong ids,
// and nothing worse.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/id_buffer.h"
#include "bpe/borders/borders.h"

namespace tokcli {

constexpr uint32_t kImageVersion = 8;     // counted up with every change of the image or of how it is looked up
constexpr unsigned kIdBits = 21;          // a merge, which is three ids, fits one word of 64 bits
constexpr uint32_t kMaxId = (1u << kIdBits) - 257;  // ids are below this: numbers are left for bytes that are no token
constexpr size_t kShortBytes = 12;        // tokens up to this size are inside their table, with their id, in 16 bytes

// A part is what merging has made of some bytes of a piece so far: the id of a token or, for a byte that is no token, a
// number from id_count() on. kNoPart is before the first part and after the last one, and merges with nothing.
constexpr uint32_t kNoPart = kNone;

struct Token {
  const uint8_t* bytes;
  uint32_t id;
  uint32_t size;
};

class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // The ids of a left token, a right token, and the token that both become.
  using Merge = std::array<uint32_t, 3>;

  // Opens an image, which has to outlive this object. Returns false where it is no image of this version, or its tables
  // are not all inside it.
  bool open(std::span<const uint8_t> image);
  // Returns whether every byte is as it was built: reads all of the image.
  bool verify() const;

  // --- from bytes to ids: kNone where there is no such token ---

  // Finds the token with these `size` >= 1 bytes; `readable` bytes may be read from p on.
  uint32_t find(const uint8_t* p, size_t size, size_t readable) const {
    if (size > kShortBytes) return find_long(p, size);
    const Key key = key_of(p, size, readable);
    return find_short(key, hash_of(key));
  }
  // Finds a token of 1 to kShortBytes bytes by its key and hash.
  uint32_t find_short(const Key& key, uint64_t hash) const {
    return may_be_short(hash) ? find_in_slots(key, hash) : kNone;
  }
  // Asks for the memory that may_be_short reads, and for what find_short reads first if that is true.
  void prefetch_filter(uint64_t hash) const { __builtin_prefetch(&filter_[hash >> short_shift_]); }
  const void* place_of_short(uint64_t hash) const { return &short_[hash >> short_shift_]; }
  // Returns whether there may be a token with this hash. False is certain; true is wrong for at most one lookup in 20.
  bool may_be_short(uint64_t hash) const {
    return filter_[hash >> short_shift_] >> (hash >> (short_shift_ - 3) & 7) & 1;
  }
  uint32_t find_in_slots(const Key& key, uint64_t hash) const {
    const ShortSlot wanted = slot_of(key, 0);
    for (size_t at = hash >> short_shift_, tries = 0; tries <= short_mask_; at = (at + 1) & short_mask_, ++tries) {
      const ShortSlot& slot = short_[at];
      if (slot.low == wanted.low && slot.high == wanted.high && (slot.size_and_id ^ wanted.size_and_id) >> kIdBits == 0)
        return slot.size_and_id & kIdMask;
      if (slot.size_and_id == 0) return kNone;
    }
    return kNone;
  }
  // Finds a token of more than kShortBytes bytes.
  uint32_t find_long(const uint8_t* p, size_t size) const;

  // --- merging ---

  // Returns the part that a single byte is, and the id of a part (kNone for a byte that is no token).
  uint32_t byte_part(uint8_t byte) const { return bytes_[byte]; }
  uint32_t id_of_part(uint32_t part) const { return part < id_count_ ? part : kNone; }
  bool has_all_bytes() const {
    return std::all_of(bytes_, bytes_ + 256, [&](uint32_t part) { return part < id_count_; });
  }
  // A question asked of the table of merges: which token do two parts become? Its id is also the rank of the merge.
  // Each pair has exactly one slot where it can be, so that neither asking nor answering has a loop or a branch:
  // whether two parts merge is as good as random, and a branch on it would be mispredicted half of the time. A question
  // that is asked early has its slot in the cache when its answer is read.
  struct Question {
    uint64_t pair;
    const uint64_t* slot;

    uint32_t answer() const {
      return (static_cast<uint32_t>(*slot) & kIdMask) | (*slot >> kIdBits == pair ? 0 : kNone);
    }
  };
  // kNoPart is extended as a sign: a pair with it is above 2^63, and equals no pair of two ids, whatever an image
  // holds.
  static uint64_t pair_of(uint32_t left, uint32_t right) {
    const auto extended = [](uint32_t part) { return static_cast<uint64_t>(static_cast<int32_t>(part)); };
    return extended(left) << kIdBits | extended(right);
  }
  Question ask(uint32_t left, uint32_t right) const {
    const uint64_t pair = pair_of(left, right), hash = mix(pair, kHashLow);
    const uint32_t bucket = buckets_[hash >> bucket_shift_];
    const size_t may_be = bucket >> bucket_filter_bit(hash) & 1;
    return {pair, &merges_[merge_slot(hash, bucket, merge_shift_) & (0 - may_be)]};
  }
  uint32_t merged(uint32_t left, uint32_t right) const { return ask(left, right).answer(); }
  // Returns what two single bytes become, from a table of all pairs of bytes; kNone where they do not merge.
  uint32_t merged_bytes(uint8_t left, uint8_t right) const { return borders_.merged_bytes(left, right); }
  // The borders of pieces, and what is known of pairs of bytes.
  const Borders& borders() const { return borders_; }

  // --- from ids to bytes ---

  // Finds the bytes of an id; returns false where there is no such token.
  bool token(uint32_t id, std::string_view* out) const {
    if (id >= id_count_) return false;
    const uint32_t start = starts_[id], end = starts_[id + 1];
    if (end < start || end > blob_size_) return false;
    *out = {reinterpret_cast<const char*>(blob_) + start, end - start};
    return start != end || id == empty_id_;
  }
  // Returns how many bytes an id has; 0 where there is no such token.
  size_t size(uint32_t id) const { return id < id_count_ ? std::max(starts_[id + 1], starts_[id]) - starts_[id] : 0; }
  void prefetch_size(uint32_t id) const {
    if (id < id_count_) __builtin_prefetch(&starts_[id]);
  }
  // What `token` reads of two ids, soon to be asked for: of `far` where its bytes are, of `near` these bytes.
  void prefetch_tokens(uint32_t far, uint32_t near) const {
    if (far < id_count_) __builtin_prefetch(&starts_[far]);
    if (near < id_count_) __builtin_prefetch(blob_ + starts_[near]);
  }
  // Returns the two ids that merge into each id: all left ones, then all right ones; kNone where no two tokens do.
  std::vector<uint32_t> parents() const;
  // Calls `take(left, right, made)` with the two parts of each merge and the id that they make.
  template <class Take>
  void for_each_merge(const Take& take) const {
    for (size_t slot = 0, slots = size_t{1} << (64 - merge_shift_); slot < slots; ++slot) {
      const uint64_t word = merges_[slot];
      const auto made = static_cast<uint32_t>(word) & kIdMask, right = static_cast<uint32_t>(word >> kIdBits) & kIdMask;
      if (word != UINT64_MAX) take(static_cast<uint32_t>(word >> 2 * kIdBits), right, made);
    }
  }
  // Returns whether `size` bytes may be read from a place in the bytes of a token on.
  bool may_read(const char* p, size_t size) const {
    return blob_size_ >= size && reinterpret_cast<const uint8_t*>(p) <= blob_ + blob_size_ - size;
  }
  uint32_t id_count() const { return id_count_; }
  size_t longest() const { return longest_; }
  bool drops_missing() const { return drops_missing_; }
  std::span<const uint8_t> source() const { return {source_, 32}; }

 private:
  friend class ImageBuilder;
  friend struct ImageHeader;
  static constexpr uint32_t kIdMask = (1u << kIdBits) - 1;

  // The table of merges is a perfect hash table, made by "hash, displace and compress" (Belazzougui, Botelho,
  // Dietzfelbinger 2009). The high bits of a pair's hash name a bucket. The bucket's displacement, its low 16 bits,
  // changes the hashes of its pairs so that each has a slot of its own. Each pair also sets one of the bucket's high 16
  // bits, which tells most of the pairs that do not merge without a look at their slot.
  static size_t merge_slot(uint64_t hash, uint32_t bucket, unsigned shift) {
    return static_cast<size_t>((hash ^ (bucket & 0xFFFF)) * kHashHigh >> shift);
  }
  static unsigned bucket_filter_bit(uint64_t hash) { return 16 + (hash & 15); }

  struct ShortSlot {
    uint64_t low;
    uint32_t high, size_and_id;  // the size is above the id's bits; 0 is an empty slot
  };
  static ShortSlot slot_of(const Key& key, uint32_t id) {
    const auto size = static_cast<uint32_t>(key.high >> 56);
    return {key.low, static_cast<uint32_t>(key.high), size << kIdBits | id};
  }
  struct LongSlot {
    uint32_t tag, id;  // the hash's upper half, and id + 1; 0 is an empty slot
  };

  std::span<const uint8_t> image_;
  const uint8_t* source_ = nullptr;
  const uint32_t* starts_ = nullptr;  // where each id's bytes begin in the blob, and where the last one's end
  const uint8_t* blob_ = nullptr;
  const uint8_t* filter_ = nullptr;  // eight bits for each slot, one of them set for each token: in the L2 cache
  const ShortSlot* short_ = nullptr;
  const LongSlot* long_ = nullptr;
  const uint64_t* merges_ = nullptr;  // left, right and the id of both in one word
  const uint32_t* buckets_ = nullptr;
  const uint32_t* bytes_ = nullptr;
  unsigned short_shift_ = 0, merge_shift_ = 0, bucket_shift_ = 0;
  size_t short_mask_ = 0, long_mask_ = 0, longest_ = 0;
  uint32_t id_count_ = 0, blob_size_ = 0, empty_id_ = kNone;
  bool drops_missing_ = false;
  Borders borders_;
};

}  // namespace tokcli
