// Finding the number of a string.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/id_buffer.h"
#include "models/text_image.h"
#include "text/utf8.h"

namespace tokcli {

// Hashes a short text: all of its tail is read with at most two loads, without a loop.
inline uint64_t hash_text(const uint8_t* p, size_t size, uint64_t seed) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  const auto load = [](const uint8_t* from, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, from, count);
    return word;
  };
  uint64_t hash = size * kMultiplier + seed;
  for (; size > 8; p += 8, size -= 8) {
    hash = mix(hash ^ load(p, 8), kMultiplier);
  }
  uint64_t tail;
  if (size == 8) tail = load(p, 8);
  else if (size >= 4) tail = load(p, 4) | load(p + size - 4, 4) << 32;
  else tail = size == 0 ? 0 : p[0] | static_cast<uint64_t>(p[size / 2]) << 8 | static_cast<uint64_t>(p[size - 1]) << 16;
  return mix(hash ^ tail, 0xD6E8FEB86659FD93u);
}

// A map from short texts to numbers that looks up without a hash. Where the symbols of a word are merged, many of the texts
// that are looked for are single characters, with which it begins, or two of ASCII. (Profile: with a hash, mixed text that
// was new to llama 2 took an eighth longer.)
class ShortTexts {
 public:
  static constexpr size_t kNowhere = SIZE_MAX;
  // Returns the place of a character; kNowhere where a text is none of up to three bytes.
  static size_t place_of_char(const uint8_t* p, size_t size) {
    const auto inner = [](uint8_t byte) { return byte & size_t{0x3F}; };
    if (size == 1) return p[0] < 0x80 ? p[0] : kNowhere;
    if (size == 2) {
      const size_t code = (p[0] & size_t{0x1F}) << 6 | inner(p[1]);
      return p[0] >> 5 == 0b110 && !begins_char(p[1]) && code >= 0x80 ? code : kNowhere;
    }
    if (size != 3) return kNowhere;
    const size_t code = (p[0] & size_t{0x0F}) << 12 | inner(p[1]) << 6 | inner(p[2]);
    return p[0] >> 4 == 0b1110 && !begins_char(p[1]) && !begins_char(p[2]) && code >= 0x800 ? code : kNowhere;
  }
  // Returns the place of two characters of ASCII.
  static size_t place_of_pair(const uint8_t* p) { return kChars + (size_t{p[0]} << 7 | p[1]); }
  // Returns the number at a place; kNone where there is none.
  uint32_t at(size_t place) const { return numbers_[blocks_[place / kBlock] * kBlock + place % kBlock]; }
  // `text_of(number)` returns the text of a number below `count`; the texts are distinct.
  template <class TextOf>
  void build(uint32_t count, const TextOf& text_of) {
    std::vector<uint16_t> blocks(kPlaces / kBlock);
    std::vector<uint32_t> numbers(kBlock, kNone);
    for (uint32_t number = 0; number < count; ++number) {
      const Bytes text = text_of(number);
      const bool is_pair = text.size() == 2 && (text[0] | text[1]) < 0x80;
      const size_t place = is_pair ? place_of_pair(text.data()) : place_of_char(text.data(), text.size());
      if (place == kNowhere) continue;
      uint16_t& block = blocks[place / kBlock];
      if (block == 0) {
        block = static_cast<uint16_t>(numbers.size() / kBlock);
        numbers.resize(numbers.size() + kBlock, kNone);
      }
      numbers[block * kBlock + place % kBlock] = number;
    }
    blocks_ = std::move(blocks);
    numbers_ = std::move(numbers);
  }

  template <class Archive>
  void fields(Archive& archive) {
    archive.table(blocks_);
    archive.table(numbers_);
  }
  // Returns whether every number is one of `count`.
  bool fits(size_t count) const {
    const auto has_block = [&](uint16_t block) { return (block + size_t{1}) * kBlock <= numbers_.size(); };
    return blocks_.size() == kPlaces / kBlock && std::all_of(blocks_.begin(), blocks_.end(), has_block) &&
           std::all_of(numbers_.begin(), numbers_.end(), [&](uint32_t number) { return number < count || number == kNone; });
  }

 private:
  static constexpr size_t kChars = 0x10000, kPlaces = kChars + 128 * 128, kBlock = 64;
  // The numbers of 64 places in a row lie together. A block that has none is the first one.
  Table<uint16_t> blocks_{std::vector<uint16_t>(kPlaces / kBlock)};
  Table<uint32_t> numbers_{std::vector<uint32_t>(kBlock, kNone)};
};

// Distinct strings, numbered in the order in which they were given.
class Strings {
 public:
  // Builds the table of strings whose bytes are in a row. Returns false where the sizes do not add up, or two are
  // equal.
  bool build(std::string_view blob, const std::vector<uint32_t>& sizes);
  // Returns the number of a string; kNone where there is no such string.
  uint32_t find(const uint8_t* p, size_t size) const {
    const uint64_t hash = hash_text(p, size, seed_);
    for (size_t slot = hash >> shift_;; slot = (slot + 1) & mask_) {
      const Slot& found = slots_[slot];
      if (found.number == kNone) return kNone;
      if (found.tag != static_cast<uint32_t>(hash)) continue;
      const std::string_view text = (*this)[found.number];
      if (text.size() == size && std::memcmp(text.data(), p, size) == 0) return found.number;
    }
  }
  // The same for the text of one character, and for what two symbols make, which often have one character each.
  uint32_t find_char(const uint8_t* p, size_t size) const {
    const size_t place = ShortTexts::place_of_char(p, size);
    return place != ShortTexts::kNowhere ? short_texts_.at(place) : find(p, size);
  }
  uint32_t find_merged(const uint8_t* p, size_t size) const {
    return size == 2 && (p[0] | p[1]) < 0x80 ? short_texts_.at(ShortTexts::place_of_pair(p)) : find(p, size);
  }
  std::string_view operator[](uint32_t number) const {
    return {blob_.data() + starts_[number], starts_[number + 1] - starts_[number]};
  }
  size_t size() const { return starts_.size() - 1; }

  template <class Archive>
  void fields(Archive& archive) {
    archive.plain(seed_);
    archive.table(blob_);
    archive.table(starts_);
    archive.table(slots_);
    short_texts_.fields(archive);
    if constexpr (Archive::kReads) measure();
  }
  // Returns whether every number that was read from an image leads to a string, and every search ends.
  bool fits() const;

 private:
  struct Slot {
    uint32_t tag = 0, number = kNone;
  };
  void measure();

  uint64_t seed_ = process_seed().low;  // of the process that built the table
  Table<char> blob_;
  Table<uint32_t> starts_{std::vector<uint32_t>{0}};
  Table<Slot> slots_{std::vector<Slot>(2)};  // a power of two, at least half of it empty
  ShortTexts short_texts_;
  unsigned shift_ = 63;
  size_t mask_ = 1;
};

}  // namespace tokcli
