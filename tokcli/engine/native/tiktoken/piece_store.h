// What an encoder has merged: pieces and their ids, for as long as there is memory for them.
//
// A long text has too many different words for a cache that fits the processor's own. Of the pieces of 128 MB of text, one
// in ten is no token and was not among the last 50,000 of its kind: without a store it is merged again, which takes twenty
// times as long as finding it (profile: half of the time that encoding such a text took).
//
// An index tells where an entry is: buckets of a cache line, which hold eight tags of 32 bits and the places of their
// entries. A tag is part of a hash and names the first bucket where it may be by its high bits; so a larger index is made
// of the tags alone, in order, and no entry is read for it. Entries are written one after another into blocks that never
// move. Whoever looks up many pieces does so in three short loops (look_up_stored in encoder.cc): ask for the buckets,
// read them and ask for the entries, compare. Then the memory system works on many of them at once.
//
// The hash depends on numbers that only this process knows: nobody can write a text whose pieces fall on one bucket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/hash.h"
#include "base/memory.h"
#include "base/processor.h"

#if defined(TOKCLI_SSE2)
#include <emmintrin.h>
#endif

namespace tokcli {

class PieceStore {
 public:
  // A byte says how long a piece is, and another how many ids it has. (Profile: sentences in Chinese and Japanese are pieces
  // of up to 250 bytes; with half of that, a second pass over them took a fifth longer, and a first one over words as long.)
  static constexpr size_t kMostBytes = 255, kMostIds = 255;

  PieceStore();
  ~PieceStore();
  PieceStore(const PieceStore&) = delete;
  PieceStore& operator=(const PieceStore&) = delete;

  static constexpr size_t kWords = 16;  // bytes that may be read after an entry
  static constexpr uint8_t kNothing[2 + kWords] = {};
  // A piece with the number of its ids: two bytes, its own bytes, and its ids as they are in memory.
  class Entry {
   public:
    explicit Entry(const uint8_t* at = kNothing) : at_(at) {}
    bool is_nothing() const { return at_ == kNothing; }
    bool holds(const uint8_t* p, size_t size) const { return at_[0] == size && std::memcmp(at_ + 2, p, size) == 0; }
    // The same for a piece of 1 to 15 bytes, of which the key is known.
    bool holds(const Key& key) const {
      const size_t size = at_[0] & kKeyBytes;
      const uint64_t low = read_word(at_ + 2) & kKeyRows[size].mask.low, high = read_word(at_ + 10) & kKeyRows[size].mask.high;
      return ((low ^ key.low) | (high ^ (key.high & kBytesOfHigh)) | (at_[0] ^ key.high >> 56)) == 0;
    }
    uint32_t count() const { return at_[1]; }
    const uint8_t* ids() const { return at_ + 2 + at_[0]; }
    void prefetch(size_t size) const {
      __builtin_prefetch(at_);
      __builtin_prefetch(at_ + 2 + size + 8);  // of three ids at least two are before the end of this line
    }

   private:
    static constexpr uint64_t kBytesOfHigh = (uint64_t{1} << 56) - 1;
    const uint8_t* at_;
  };

  uint32_t tag_of(const Key& key) const { return tag(seeded_hash(key, seed_)); }
  uint32_t tag_of(const uint8_t* p, size_t size) const { return tag(hash_bytes(p, size, seed_.low)); }
  // The bucket where an entry with a tag is first looked for.
  const void* place_of(uint32_t tag) const { return &buckets_[tag >> shift_]; }
  // The first entry with a tag; one that holds no piece where there is none. To be read before anything is added.
  Entry candidate(uint32_t tag) const {
    Entry found;
    search(tag, [&](Entry entry) {
      found = entry;
      return true;
    });
    return found;
  }
  // Finds the entry of a piece among all those with its tag; returns whether there is one.
  bool find(uint32_t tag, const uint8_t* p, size_t size, Entry* found) const {
    return search(tag, [&](Entry entry) {
      *found = entry;
      return entry.holds(p, size);
    });
  }
  // Adds a piece of at most kMostBytes with at most kMostIds ids, or one of which the key is known. Returns its entry, or one
  // that holds nothing where the store does not take it: then it may be full. Up to three more ids are read.
  Entry add(uint32_t tag, const uint8_t* p, size_t size, const uint32_t* ids, size_t count) noexcept;
  Entry add(uint32_t tag, const Key& key, const uint32_t* ids, size_t count) noexcept;
  // Says whether nothing more goes in until all is forgotten. Entries stay where they are until then.
  bool is_full() const { return is_full_; }
  void forget();
  // Tells whether entries are still there: also a store that loses its memory to another one forgets all.
  size_t times_forgotten() const { return times_forgotten_; }

  // Says whether the encoder waits for a text. While it does, another store may take the memory away; to be called with a
  // BriefLock.
  void set_idle(bool is_idle) noexcept;

 private:
  struct alignas(64) Bucket {
    uint32_t tags[8];  // filled from the first one on; 0 is free
    uint32_t places[8];
  };
  static constexpr size_t kGrowths = 7;  // times that a store may grow
  // What was allocated; without any the store is in `first_`.
  struct Memory {
    std::optional<ZeroedArray<Bucket>> index;
    std::array<std::optional<ZeroedArray<uint8_t>>, kGrowths> arena;  // what each step has added
    size_t step = 0;
  };
  friend struct AllStores;

  static constexpr size_t kMostTries = 4;  // buckets, one after another, in which a tag may be
  static constexpr size_t kMoved = (size_t{2} << 20) / sizeof(Bucket);  // buckets that go to a larger index at a time
  static constexpr unsigned kBlockBits = 18;
  static constexpr size_t kBlock = size_t{1} << kBlockBits, kMostBlocks = 160;
  static_assert(2 + kMostBytes + kMostIds * sizeof(uint32_t) + kWords <= kBlock);  // an entry is in one block

  // A store begins inside the encoder, so that a short text pays nothing for it, and takes more memory whenever it is full:
  // 384 KB, 2, 6, 11, 20, 32 MB, at last 56 MB. (Profile: a text of 128 MB took 1.4 times as long with 16 MB, and as long
  // with 256 MB; of half a megabyte, new pages took longer than encoding. With a step from 8 to 32 MB, whose index is 16 MB,
  // new pages were a third of the time that two threads took for 12 MB of eleven languages.)
  struct Step {
    unsigned bits;  // of the number of buckets
    size_t blocks;
    size_t bytes() const { return (sizeof(Bucket) << bits) + blocks * kBlock; }
  };
  static constexpr unsigned kFirstBits = 5;
  static constexpr size_t kFirstBytes = 6 << 10;
  static constexpr std::array<Step, kGrowths + 1> kSteps = {
      {{kFirstBits, 0}, {11, 1}, {14, 4}, {15, 16}, {16, 28}, {17, 48}, {18, 64}, {18, kMostBlocks}}};
  static constexpr size_t kOwnSteps = 2;  // whose memory every store may have: what is above them, all stores share

  static uint32_t tag(uint64_t hash) {
    const auto high = static_cast<uint32_t>(hash >> 32);
    return high == 0 ? 1 : high;
  }
  // For each of the eight tags of a bucket, a bit that says whether it is this one.
  static unsigned equal(const Bucket& bucket, uint32_t tag) {
#if defined(TOKCLI_SSE2)
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
    const auto four = [&](const uint32_t* tags) {
      const __m128i read = _mm_load_si128(reinterpret_cast<const __m128i*>(tags));
      return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(read, wanted))));
    };
    return four(bucket.tags) | four(bucket.tags + 4) << 4;
#else
    unsigned found = 0;
    for (unsigned i = 0; i < 8; ++i) found |= static_cast<unsigned>(bucket.tags[i] == tag) << i;
    return found;
#endif
  }
  // Calls `is_wanted` with the entries that have a tag until it returns true, and returns whether it has.
  template <class IsWanted>
  bool search(uint32_t tag, const IsWanted& is_wanted) const {
    size_t at = tag >> shift_;
    for (size_t tries = 0; tries < kMostTries; ++tries, at = (at + 1) & mask_) {
      const Bucket& bucket = buckets_[at];
      for (unsigned found = equal(bucket, tag); found != 0; found &= found - 1) {
        if (is_wanted(entry(bucket.places[__builtin_ctz(found)]))) return true;
      }
      if (bucket.tags[7] == 0) break;
    }
    return false;
  }
  Entry entry(uint32_t place) const { return Entry(blocks_[place >> kBlockBits] + (place & (kBlock - 1))); }
  bool put(uint32_t tag, uint32_t place);
  template <class Holds, class Write>
  Entry add(uint32_t tag, size_t size, const uint32_t* ids, size_t count, const Holds& holds, const Write& write) noexcept;
  bool reserve(size_t reach);
  bool grow();
  void move_index(ZeroedArray<Bucket> index, unsigned bits);
  void set_index(Bucket* buckets, unsigned bits);
  void begin();

  Seed seed_ = process_seed();
  Bucket* buckets_;
  unsigned shift_;
  size_t mask_, count_, most_;  // entries that there are, and may be
  size_t used_, room_;          // bytes of the blocks
  size_t times_forgotten_ = 0;
  bool is_full_ = false;
  std::array<uint8_t*, kMostBlocks> blocks_;
  Memory memory_;
  PieceStore *previous_ = nullptr, *next_ = nullptr;  // among the idle ones whose memory may be taken away
  bool is_listed_ = false;
  std::array<Bucket, size_t{1} << kFirstBits> first_index_;
  std::array<uint8_t, kFirstBytes> first_arena_;
};

}  // namespace tokcli
