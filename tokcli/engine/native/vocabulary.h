// The vocabulary image: one flat, position-independent block of bytes with everything that encoding and decoding look
// up. It is built once; opened, nothing is copied. What stands in it is not trusted: every offset is checked.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tokcli {

constexpr uint32_t kImageVersion = 5;     // counted up with every change of the image or of how it is looked up
constexpr uint32_t kNone = 0xFFFFFFFF;    // no such token
constexpr unsigned kIdBits = 21;          // so that a merge, three ids, is one word
constexpr uint32_t kMaxId = (1u << kIdBits) - 257;  // behind the ids stand 256 for bytes that are no token, and kNoPart
constexpr uint32_t kNoPart = (1u << kIdBits) - 1;   // no part of any piece: merges with nothing
constexpr size_t kKeyBytes = 15;          // pieces up to here are compared and hashed in two words
constexpr size_t kShortBytes = 12;        // tokens up to here stand inside the table, with their id in 16 bytes

// Up to 15 bytes and their number, in two words: comparing and hashing a piece takes no loop.
struct Key {
  uint64_t low = 0, high = 0;
  bool operator==(const Key&) const = default;
};

inline uint64_t mix(uint64_t a, uint64_t b) {  // the 128-bit product folded, as in wyhash by Wang Yi
#if defined(__SIZEOF_INT128__)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  const uint64_t h = (a ^ (a >> 32)) * 0x9E3779B97F4A7C15u + (b ^ (b >> 29)) * 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 31);
#endif
}

// Multiplicative hashing (Knuth): only the high bits depend on every byte, so tables are indexed by them.
constexpr uint64_t kHashLow = 0x9E3779B97F4A7C15u, kHashHigh = 0xD6E8FEB86659FD93u;
inline uint64_t hash_of(const Key& key) { return key.low * kHashLow + key.high * kHashHigh; }
inline size_t high_bits(uint64_t hash, unsigned bits) { return static_cast<size_t>(hash >> (64 - bits)); }

// The words of a key of each size, all bits set. (Read from memory: shifts by the size take twice the instructions.)
inline constexpr auto kKeyMask = [] {
  std::array<Key, kKeyBytes + 1> masks{};
  for (size_t size = 0; size <= kKeyBytes; ++size) {
    for (size_t i = 0; i < size; ++i) (i < 8 ? masks[size].low : masks[size].high) |= 0xFFull << 8 * (i % 8);
  }
  return masks;
}();

// The key of `size` <= 15 bytes at p; `readable` bytes may be read from there.
inline Key key_of(const uint8_t* p, size_t size, size_t readable) {
  Key key;
  if (readable >= 16) [[likely]] {
    std::memcpy(&key, p, 16);
    key.low &= kKeyMask[size].low;
    key.high &= kKeyMask[size].high;
  } else {
    std::memcpy(&key, p, size);
  }
  key.high |= static_cast<uint64_t>(size) << 56;
  return key;
}

uint64_t hash_bytes(const uint8_t* p, size_t size);
// Of much: four independent lanes, so that it runs at the speed of memory.
uint64_t hash_lanes(std::span<const uint8_t> data);

struct Token {
  const uint8_t* bytes;
  uint32_t id;
  uint32_t size;
};

class Vocabulary {
 public:
  // A merge: two parts and what they become, all of them ids.
  using Merge = std::array<uint32_t, 3>;
  // An image of these tokens, ids distinct and at most kMaxId - 1, bytes distinct; `source` is kept in its header.
  // Merges are found for all tokens, or are these (ids below kMaxId), where `has_merges`.
  static std::vector<uint8_t> build(std::span<const Token> tokens, std::span<const uint8_t, 32> source,
                                    std::span<const Merge> merges = {}, bool has_merges = false);

  // Opens an image that outlives this object; false says that it is none, or that its parts do not fit.
  bool open(std::span<const uint8_t> image);
  // Whether every byte is as it was built; reads all of it.
  bool verify() const;

  uint32_t find(const uint8_t* p, size_t size, size_t readable) const {
    if (size > kShortBytes) return find_long(p, size);
    const Key key = key_of(p, size, readable);
    return find_short(key, hash_of(key));
  }
  // A token of 1 to kShortBytes bytes.
  uint32_t find_short(const Key& key, uint64_t hash) const {
    return may_be_short(hash) ? find_in_slots(key, hash) : kNone;
  }
  // Asks for the memory that find_short reads.
  void prefetch_short(uint64_t hash) const {
    __builtin_prefetch(&filter_[hash >> short_shift_]);
    __builtin_prefetch(&short_[hash >> short_shift_]);
  }
  // Whether there may be such a token: false is certain, true is wrong for one lookup in 20 or less.
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
  uint32_t find_long(const uint8_t* p, size_t size) const;
  // A part that is one byte: its id, or behind all ids where the vocabulary lacks it.
  uint32_t byte_part(uint8_t byte) const { return bytes_[byte]; }
  uint32_t id_of_part(uint32_t part) const { return part < id_count_ ? part : kNone; }
  // A question that was asked of the table of merges: which token two parts merge into, which is also the rank of doing
  // so. Each pair has one slot where it can stand, so asking and reading have no loop, and may have no branch: whether two
  // parts merge is as good as random. What is asked early is in the cache when it is read.
  struct Question {
    uint64_t pair;
    const uint64_t* slot;

    uint32_t answer() const {
      return (static_cast<uint32_t>(*slot) & kIdMask) | (*slot >> kIdBits == pair ? 0 : kNone);
    }
  };
  Question ask(uint32_t left, uint32_t right) const {
    const uint64_t pair = static_cast<uint64_t>(left) << kIdBits | right, hash = mix(pair, kHashLow);
    const uint32_t bucket = buckets_[hash >> bucket_shift_];
    const size_t may_be = bucket >> bucket_filter_bit(hash) & 1;
    return {pair, &merges_[merge_slot(hash, bucket, merge_shift_) & (0 - may_be)]};
  }
  uint32_t merged(uint32_t left, uint32_t right) const { return ask(left, right).answer(); }
  // The same for two single bytes.
  uint32_t merged_bytes(uint8_t left, uint8_t right) const { return byte_pairs_[left * size_t{256} + right]; }

  // The bytes of an id; false where there is no such token.
  bool token(uint32_t id, std::string_view* out) const {
    if (id >= id_count_) return false;
    const uint32_t start = starts_[id], end = starts_[id + 1];
    if (end < start || end > blob_size_) return false;
    *out = {reinterpret_cast<const char*>(blob_) + start, end - start};
    return start != end || id == empty_id_;
  }
  // The two ids that merge into each id, read from the table of merges: all the left ones, then all the right ones;
  // kNone where no merge of two tokens makes it.
  std::vector<uint32_t> parents() const;
  // Whether there are as many bytes behind a place in the bytes of a token.
  bool may_read(const char* p, size_t size) const {
    return blob_size_ >= size && reinterpret_cast<const uint8_t*>(p) <= blob_ + blob_size_ - size;
  }
  uint32_t id_count() const { return id_count_; }
  size_t longest() const { return longest_; }
  std::span<const uint8_t> source() const { return {source_, 32}; }

 private:
  struct Header;
  static uint64_t checksum_of(Header header, std::span<const uint8_t> rest);
  static std::array<size_t, 9> lengths_of(const Header& header, size_t blob_size);
  static std::vector<Merge> merges_of(const Vocabulary& tokens);
  static void add_merges(std::span<uint8_t> image, const Header& header, const std::vector<Merge>* known);

  static constexpr uint32_t kIdMask = (1u << kIdBits) - 1;

  // Perfect hashing by "hash, displace and compress" (Belazzougui, Botelho, Dietzfelbinger 2009): the high bits of a hash
  // name a bucket, whose displacement (its low 16 bits) was chosen so that all its pairs have slots that nobody else has.
  // Each pair also sets one of the bucket's high 16 bits.
  static size_t merge_slot(uint64_t hash, uint32_t bucket, unsigned shift) {
    return static_cast<size_t>((hash ^ (bucket & 0xFFFF)) * kHashHigh >> shift);
  }
  static unsigned bucket_filter_bit(uint64_t hash) { return 16 + (hash & 15); }

  struct ShortSlot {
    uint64_t low;
    uint32_t high, size_and_id;  // the size stands above the id
  };
  static ShortSlot slot_of(const Key& key, uint32_t id) {
    const auto size = static_cast<uint32_t>(key.high >> 56);
    return {key.low, static_cast<uint32_t>(key.high), size << kIdBits | id};
  }
  struct LongSlot {
    uint32_t tag, id;  // id + 1; 0 is an empty slot
  };

  std::span<const uint8_t> image_;
  const uint8_t* source_ = nullptr;
  const uint32_t* starts_ = nullptr;  // of each id in the blob, one more than there are ids
  const uint8_t* blob_ = nullptr;
  const uint8_t* filter_ = nullptr;  // eight bits a slot, one set for each token: answers most failing lookups, from L2
  const ShortSlot* short_ = nullptr;
  const LongSlot* long_ = nullptr;
  const uint64_t* merges_ = nullptr;  // left, right and id in a word
  const uint32_t* buckets_ = nullptr;
  const uint32_t* bytes_ = nullptr;
  const uint32_t* byte_pairs_ = nullptr;
  unsigned short_shift_ = 0, merge_shift_ = 0, bucket_shift_ = 0;
  size_t short_mask_ = 0, long_mask_ = 0, longest_ = 0;
  uint32_t id_count_ = 0, blob_size_ = 0, empty_id_ = kNone;
};

}  // namespace tokcli
