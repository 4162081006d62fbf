// Borders: places in a piece that no merge ever crosses, whatever comes before and after.
//
// What is between two of them is merged for itself, so that a piece of a megabyte becomes many short ones, which are found
// in the cache as words are. They are known from a few bytes around a place, by two facts of a vocabulary, of which an image
// has tables (border_builder.cc makes them):
//
// - A pair of bytes is sure to be merged if each merge that could take one of the two away from the other has a higher
//   rank: as long as they are there, those are not the lowest. The right byte can only be taken by a token that begins
//   with the byte after it, and the left one by a token that ends with the byte before it.
// - A merge that crosses a place joins a token that ends there with one that begins there. So the last two bytes of the
//   one and the first two of the other are those around that place, or one of them is a single byte: of a pair that is
//   sure to be merged, no byte stays alone for so long.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/id_buffer.h"

namespace tokcli {

class Borders {
 public:
  // What is known of two bytes. Ranks are divided by 2^rank_shift, and the highest number stands for none: where two of these
  // are different, so are the ranks.
  struct Pair {
    uint32_t made;    // what the two become, not divided: kNone where they do not merge
    uint16_t rights;  // the lowest of merging the first byte alone with any token that begins with the second
    uint16_t lefts;   // the lowest of merging any token that ends with the first byte with the second alone
  };
  static constexpr uint16_t kNever = UINT16_MAX;
  static constexpr size_t kPairs = size_t{1} << 16;
  static size_t number(uint8_t first, uint8_t second) { return first | size_t{second} << 8; }
  // What is known of a character of three bytes that is sure to become a token (sure_character).
  struct Character {
    uint64_t unsure;  // of each continuation byte before it
    uint32_t id, unused;
  };
  // The tables as an image has them.
  struct Tables {
    const Pair* pairs = nullptr;                // kPairs
    const uint64_t* crossings = nullptr;        // 2^crossing_bits
    std::span<const uint16_t> numbers;          // of each code of a character, the number of what is known of it, from 1 on
    std::span<const Character> characters;
    unsigned rank_shift = 0, crossing_bits = 0;
    bool are_of_pieces = false;
  };
  static unsigned rank_shift(uint32_t id_count) { return width_of(id_count) < 16 ? 0 : width_of(id_count) - 15; }
  static unsigned crossing_bits(uint32_t id_count) { return std::clamp(width_of(id_count), 11u, 18u) - 3; }

  Borders() = default;
  explicit Borders(const Tables& tables) : tables_(tables) {}
  // Says whether every token is what its bytes merge into. Else what is between two borders may be a token that merging
  // does not make, and is not to be looked up as a piece.
  bool are_of_pieces() const { return tables_.are_of_pieces; }
  uint32_t merged_bytes(uint8_t left, uint8_t right) const { return tables_.pairs[number(left, right)].made; }

  // The places that are looked at together, and the bytes before and from the first one on that are read, all of one piece.
  static constexpr size_t kPlaces = 62, kBefore = 4, kBytes = 64;
  // Returns which of the places at p and after it are borders: bit i says so of the one before p[i].
  uint64_t find(const uint8_t* p) const;

  bool have_characters() const { return !tables_.numbers.empty(); }
  // Returns the token that the bytes of a character of three bytes at p become before anything else happens to them, with the
  // byte before them (not of ASCII; `previous` has one where there is none); kNone where that is not sure. What follows them
  // begins another character, which is not of ASCII, or is the end. To be asked only where there are such characters.
  uint32_t sure_character(const uint8_t* p, uint8_t previous) const {
    const size_t known = size_t{tables_.numbers[code_of(p[0], p[1], p[2])]} - 1;
    if (known >= tables_.characters.size()) return kNone;
    const Character& character = tables_.characters[known];
    return character.unsure >> (previous & 63) & 1 ? kNone : character.id;
  }
  static constexpr uint8_t kNoByte = 0x80;
  static constexpr size_t kCodes = size_t{1} << 16;
  static size_t code_of(uint8_t a, uint8_t b, uint8_t c) { return (a & 15u) << 12 | (b & 63u) << 6 | (c & 63u); }

 private:
  friend class BorderBuilder;
  // A filter of the bytes around the border that a merge crosses: the last two of its left token and the first two of its
  // right one, or fewer. What is not in it is in no merge. The place of three bytes is a word. In its lower half, two bits say
  // of them whether they are one of a left token and two of a right one, or two and one. In its upper half, a bit says whether
  // they are those of a merge after one byte more.
  struct Place {
    uint64_t hash;
    Place(uint32_t three, uint8_t before) : hash(three * 0x9E3779B97F4A7C15u ^ uint64_t{before & 31u} << 34) {}
    size_t word(unsigned crossing_bits) const { return hash >> (64 - crossing_bits); }
    static unsigned three_bit(uint64_t hash) { return hash >> 40 & 30; }
    static unsigned four_bit(uint64_t hash) { return 32 | (hash >> 34 & 31); }
  };
  // What is known of a byte, as the number of a bit: that there are merges across the border before it by the sizes of their
  // two tokens (across the border after it for kTwoAndOne), and that it and the next byte are merged, or are sure to be.
  enum Known : unsigned { kOneAndTwo, kTwoAndOne, kTwoAndTwo, kSure, kMerges };

  static unsigned width_of(uint32_t id_count) { return static_cast<unsigned>(std::bit_width(id_count)); }
  uint64_t find_here(const uint8_t* p, const Pair* pairs) const;
  uint64_t find_portable(const uint8_t* p) const;
  uint64_t find_avx2(const uint8_t* p) const;

  Tables tables_;
};

}  // namespace tokcli
