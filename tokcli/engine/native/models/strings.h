// Finding the number of a string.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/id_buffer.h"
#include "models/short_texts.h"
#include "models/text_image.h"

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
