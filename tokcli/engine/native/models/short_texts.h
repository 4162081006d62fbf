// Numbers of characters, and of pairs of ASCII characters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/id_buffer.h"
#include "models/text_image.h"
#include "text/utf8.h"

namespace tokcli {

// A map from short texts to numbers that looks up without a hash. Where the symbols of a word are merged, many of the texts that
// are looked for are single characters, with which it begins, or two of ASCII. (Profile: with a hash, mixed text that was new
// to llama 2 took an eighth longer.)
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

}  // namespace tokcli
