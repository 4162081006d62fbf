// The ids of words that one thread has encoded before.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/memory.h"

namespace tokcli {

// Leave to have a cache of the largest size. A process gives it to a few caches, however many threads encode.
class LargeCacheLeave {
 public:
  LargeCacheLeave() = default;
  LargeCacheLeave(const LargeCacheLeave&) = delete;
  LargeCacheLeave& operator=(const LargeCacheLeave&) = delete;
  ~LargeCacheLeave() {
    if (is_taken_) --taken_;
  }
  // Returns whether the owner has leave now; to be called by one thread at a time.
  bool take() {
    if (!is_taken_) is_taken_ = ++taken_ <= kMost;
    if (!is_taken_) --taken_;
    return is_taken_;
  }

 private:
  static constexpr int kMost = 8;  // caches, of 16 MB each
  static inline std::atomic<int> taken_ = 0;
  bool is_taken_ = false;
};

// A cache of bounded size. Words are in pairs of slots: a new word takes the second slot of its pair, and the first one
// when it is seen again. The cache begins small, as most of a large cache would cost a short text a page fault for
// every second word.
class WordCache {
 public:
  static constexpr size_t kMostBytes = 30, kMostIds = 7;
  static constexpr size_t kReadBeyond = 32;  // bytes that are best readable from each byte of a word on
  static constexpr float kSizesTell = 1;

  // A word of 1 to kMostBytes bytes as four numbers: its bytes, zeros, its size, and a zero where a slot has its count.
  struct Key {
    std::array<uint64_t, 4> words;
    uint64_t hash;
  };
  // Makes the key of a word in place; memory may be read up to `end`. (The numbers are written one by one, as they are
  // read later: a load of what several stores have written would wait for all of them.)
  static void make_key(Bytes word, const uint8_t* end, Key& key) {
    const auto load = [](const uint8_t* from) {
      uint64_t number;
      std::memcpy(&number, from, 8);
      return number;
    };
    const uint8_t* const p = word.data();
    if (static_cast<size_t>(end - p) < kBytes) [[unlikely]] return make_key_of_copy(word, key);
    const uint8_t* const mask = &kMask[kBytes - word.size()];
    const uint64_t a = load(p) & load(mask), b = load(p + 8) & load(mask + 8), c = load(p + 16) & load(mask + 16),
                   d = (load(p + 24) & load(mask + 24)) | word.size() * kSizeUnit;
    key.words[0] = a;
    key.words[1] = b;
    key.words[2] = c;
    key.words[3] = d;
    key.hash = hash_of(a, b, c, d);
  }

  struct alignas(64) Slot {
    std::array<uint64_t, 4> words;
    // Unigram: the ids hold for sums before the word up to this size. Other models: kSizesTell where the sizes of the tokens
    // are known to tell where these are in the word, else 0.
    float limit;
    uint32_t ids[kMostIds];
    size_t count() const { return reinterpret_cast<const uint8_t*>(words.data())[kBytes - 1]; }
    bool holds(const Key& key) const {
      return ((words[0] ^ key.words[0]) | (words[1] ^ key.words[1]) | (words[2] ^ key.words[2]) |
              ((words[3] ^ key.words[3]) & ~(0xFF * kCountUnit))) == 0;
    }
  };

  void prefetch(const Key& key) {
    const SlotPair& pair = pairs_[key.hash >> shift_];
    __builtin_prefetch(&pair.first);
    __builtin_prefetch(&pair.second);  // asked for by every word that is new, as many are in a short run
  }
  // Returns the slot of a word; null where it is not here.
  Slot* find(const Key& key) {
    SlotPair& pair = pairs_[key.hash >> shift_];
    if (pair.first.holds(key)) [[likely]] return &pair.first;
    if (!pair.second.holds(key)) return nullptr;
    std::swap(pair.first, pair.second);
    return &pair.first;
  }
  // Makes room for the words of a long text at once. (Growing step by step costs two threads that do so at the same time
  // as much as all else: each step takes new pages and gives old ones back.)
  void expect_text(size_t size) {
    constexpr size_t kLong = size_t{1} << 16;  // bytes
    if (size >= kLong && shift_ > 64 - kLongBits) grow(kLongBits);
  }
  void keep(const Key& key, const std::vector<uint32_t>& ids, float limit) {
    if (ids.size() > kMostIds) return;
    const size_t pairs = pair_count();
    if (++kept_ > 2 * pairs && shift_ > 64 - most_bits_) [[unlikely]] grow_further();
    Slot& slot = place_for(key.hash);
    slot.words = key.words;
    slot.words[3] |= ids.size() * kCountUnit;
    slot.limit = limit;
    std::copy(ids.begin(), ids.end(), slot.ids);
  }

 private:
  static constexpr size_t kBytes = kReadBeyond;
  static constexpr unsigned kFirstBits = 9, kLongBits = 13, kMostBits = 17;  // 64 kB, 1 MB, 16 MB
  static constexpr unsigned kGrowth = 2;  // bits: four times the size
  static constexpr auto kMask = [] {
    std::array<uint8_t, 2 * kBytes> mask{};
    for (size_t i = 0; i < kBytes; ++i) mask[i] = 0xFF;
    return mask;
  }();
  static constexpr uint64_t kSizeUnit = std::bit_cast<uint64_t>(std::array<uint8_t, 8>{0, 0, 0, 0, 0, 0, 1, 0});
  static constexpr uint64_t kCountUnit = std::bit_cast<uint64_t>(std::array<uint8_t, 8>{0, 0, 0, 0, 0, 0, 0, 1});
  struct SlotPair {
    Slot first, second;
  };

  // Makes the key of a word after which nothing may be read. (By itself: the array would make each key check the stack.)
  [[gnu::noinline, gnu::cold]] static void make_key_of_copy(Bytes word, Key& key) {
    std::array<uint8_t, kBytes> copy{};
    std::memcpy(copy.data(), word.data(), word.size());
    make_key({copy.data(), word.size()}, copy.data() + kBytes, key);
  }

  static uint64_t hash_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    uint64_t hash = a * 0x9E3779B97F4A7C15u + b * 0xD6E8FEB86659FD93u + c * 0xC2B2AE3D27D4EB4Fu + d * 0x165667B19E3779F9u;
    hash ^= hash >> 32;
    return hash * 0x9E3779B97F4A7C15u;
  }
  size_t pair_count() const { return size_t{1} << (64 - shift_); }
  Slot& place_for(uint64_t hash) {
    SlotPair& pair = pairs_[hash >> shift_];
    return pair.first.words[3] == 0 ? pair.first : pair.second;  // (free: no word has the size 0)
  }
  // Called when twice as many words have been kept as there are pairs. (Sooner would pay only in a text that is read
  // again: the last growth takes 1.3 ms, but 6 to 40 in one of five processes of a virtual machine that has to find the pages.)
  void grow_further() {
    const unsigned bits = 64 - shift_ + kGrowth;
    if (bits < kMostBits || leave_.take()) grow(bits);
    else most_bits_ = 64 - shift_;  // for good: else each new word would write to a number that all threads share
  }
  void grow(unsigned bits) {
    ZeroedArray<SlotPair> old = std::exchange(pairs_, ZeroedArray<SlotPair>(size_t{1} << bits));
    pairs_.make_pages();  // words go to all of them
    const size_t count = pair_count();
    shift_ = 64 - bits;
    for (size_t i = 0; i < count; ++i) {
      for (const Slot& slot : {old[i].first, old[i].second}) {
        const auto& [a, b, c, d] = slot.words;
        if (d != 0) place_for(hash_of(a, b, c, d & ~(0xFF * kCountUnit))) = slot;
      }
    }
  }

  unsigned shift_ = 64 - kFirstBits, most_bits_ = kMostBits;
  size_t kept_ = 0;
  LargeCacheLeave leave_;
  ZeroedArray<SlotPair> pairs_{size_t{1} << kFirstBits};
};

}  // namespace tokcli
