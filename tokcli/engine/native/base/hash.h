// Hashing, and keys that make short pieces cheap to compare.
//
// Most pieces and tokens are short. A piece of up to 15 bytes is packed, with its size, into two 64-bit words: a Key.
// Two pieces are equal if their two words are, and hashing takes two multiplications: neither needs a loop.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"

namespace tokcli {

constexpr size_t kKeyBytes = 15;  // the longest piece that a Key holds

struct Key {
  uint64_t low = 0, high = 0;  // bytes 0 to 7; bytes 8 to 14, and the size in the highest byte
  bool operator==(const Key&) const = default;
};

// Multiplies two words and folds the 128 bits of the product into 64, as wyhash by Wang Yi does.
inline uint64_t mix(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  const uint64_t h = (a ^ (a >> 32)) * 0x9E3779B97F4A7C15u + (b ^ (b >> 29)) * 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 31);
#endif
}

// Multiplicative hashing (Knuth): only the high bits of a hash depend on every byte, so tables are indexed by high
// bits.
constexpr uint64_t kHashLow = 0x9E3779B97F4A7C15u, kHashHigh = 0xD6E8FEB86659FD93u;
inline uint64_t hash_of(const Key& key) { return key.low * kHashLow + key.high * kHashHigh; }
inline size_t high_bits(uint64_t hash, unsigned bits) { return static_cast<size_t>(hash >> (64 - bits)); }

// For each size, a mask that keeps the bytes of a piece of that size, and what adds the size to them. (Profile: shifting by
// the size instead of reading the mask from memory takes twice the instructions.)
struct alignas(16) KeyRow {
  Key mask, size;
};
inline constexpr auto kKeyRows = [] {
  std::array<KeyRow, kKeyBytes + 2> rows{};
  for (size_t size = 0; size < rows.size(); ++size) {
    Key& mask = rows[size].mask;
    for (size_t i = 0; i < size && size <= kKeyBytes; ++i) (i < 8 ? mask.low : mask.high) |= 0xFFull << 8 * (i % 8);
    rows[size].size.high = uint64_t{size} << 56;
  }
  return rows;
}();

// The key of a piece of more than kKeyBytes: that of no other piece.
constexpr Key kLongKey{0, uint64_t{kKeyBytes + 1} << 56};
// Returns whether a key is kLongKey.
inline bool is_long(const Key& key) { return key.high >> 60 != 0; }
static_assert(kLongKey.high >> 60 == 1);

// Returns the key of the `size` bytes at p; kLongKey where they are more than kKeyBytes. `readable` bytes may be read from p
// on: with 16, the bytes are read at once and masked.
inline Key key_of(const uint8_t* p, size_t size, size_t readable) {
  const size_t kept = std::min(size, kKeyBytes + 1);
  const KeyRow& row = kKeyRows[kept];
  Key key;
  if (readable >= 16) [[likely]] {
    std::memcpy(&key, p, 16);
    key.low &= row.mask.low;
    key.high &= row.mask.high;
  } else if (kept <= kKeyBytes) {
    std::memcpy(&key, p, kept);
  }
  key.high |= row.size.high;
  return key;
}

// Numbers that are others in each process. Tables that grow with what strangers write (a corpus, the tokens of a file) are
// hashed with them, so that nobody can choose what falls on one place. Nothing that is kept in order depends on them.
struct Seed {
  uint64_t low, high;
};
const Seed& process_seed();

inline uint64_t read_word(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// Hashes a piece of any size. The constants here and in hash.cc are odd 64-bit numbers without a pattern, those of
// SplitMix64 and wyhash. Images depend on them: a change counts the images' versions up.
inline uint64_t hash_bytes(const uint8_t* p, size_t size, uint64_t seed = 0) {
  uint64_t hash = size * 0x9E3779B97F4A7C15u + seed, rest = 0;
  const bool is_one_word = size >= 8;
  for (; size >= 8; p += 8, size -= 8) hash = mix(hash ^ read_word(p), 0xE7037ED1A0B428DBu);
  // The last bytes are read with those before them: copying a few of them takes a branch for each power of two.
  if (is_one_word && std::endian::native == std::endian::little) rest = (read_word(p + size - 8) >> 8) >> 8 * (7 - size);
  else std::memcpy(&rest, p, size);
  return mix(hash ^ rest, 0xBF58476D1CE4E5B9u);
}

// Hashes a key or a longer piece in a way that only this process knows.
inline uint64_t seeded_hash(const Key& key, const Seed& seed) { return mix(key.low ^ seed.low, key.high ^ seed.high); }

// The hash of the standard library's tables where texts or files choose what is in them.
struct SeededHash {
  size_t operator()(std::string_view text) const {
    return hash_bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size(), process_seed().low);
  }
  size_t operator()(std::u16string_view text) const {
    return (*this)(std::string_view(reinterpret_cast<const char*>(text.data()), text.size() * sizeof(char16_t)));
  }
  size_t operator()(uint64_t number) const { return mix(number ^ process_seed().low, process_seed().high); }
};

// Hashes a whole image, at the speed of memory: eight lanes of words are hashed independently of each other. The versions of
// images count its changes, too.
uint64_t hash_lanes(Bytes data);

}  // namespace tokcli
