// Borders: places in a piece that no merge ever crosses, whatever comes before and after.
//
// What is between two of them is merged for itself, so that a piece of a megabyte becomes many short ones, which are found
// in the cache as words are. They are known from a few bytes around a place, by two facts of a vocabulary:
//
// - A pair of bytes is sure to be merged if each merge that could take one of the two away from the other has a higher
//   rank: as long as they are there, those are not the lowest. The right byte can only be taken by a token that begins
//   with the byte after it, and the left one by a token that ends with the byte before it.
// - A merge that crosses a place joins a token that ends there with one that begins there. So the last two bytes of the
//   one and the first two of the other are those around that place, or one of them is a single byte: of a pair that is
//   sure to be merged, no byte stays alone for so long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe/vocabulary.h"

namespace tokcli {

class Borders {
 public:
  explicit Borders(const Vocabulary& vocabulary);
  // Says whether every token is what its bytes merge into. Else what is between two borders may be a token that merging
  // does not make, and is not to be looked up as a piece.
  bool are_of_pieces() const { return are_of_pieces_; }

  // The places that are looked at together, and the bytes before and from the first one on that are read, all of one piece.
  static constexpr size_t kPlaces = 62, kBefore = 4, kBytes = 64;
  // Returns which of the places at p and after it are borders: bit i says so of the one before p[i].
  uint64_t find(const uint8_t* p) const;

  // Returns the token that the bytes of a character of three bytes at p become before anything else happens to them, with the
  // byte before them (not of ASCII; `previous` has one where there is none); kNone where that is not sure. What follows them
  // begins another character, which is not of ASCII, or is the end.
  uint32_t sure_character(const uint8_t* p, uint8_t previous) const {
    const Character& character = characters_[code_of(p[0], p[1], p[2])];
    return character.unsure >> (previous & 63) & 1 ? kNone : character.id;
  }
  static constexpr uint8_t kNoByte = 0x80;

 private:
  struct Character {
    uint64_t unsure;  // of each continuation byte before it
    uint32_t id;
  };
  static size_t code_of(uint8_t a, uint8_t b, uint8_t c) { return (a & 15u) << 12 | (b & 63u) << 6 | (c & 63u); }
  struct Outline;
  struct Threats;
  void find_characters(const Vocabulary& v, Threats* threats);
  // What is known of two bytes. Ranks are divided by 2^shift_, and the highest number stands for none: where two of these
  // are different, so are the ranks.
  struct Pair {
    uint16_t rank;    // of merging the two
    uint16_t rights;  // the lowest of merging the first byte alone with any token that begins with the second
    uint16_t lefts;   // the lowest of merging any token that ends with the first byte with the second alone
    uint16_t unused;
  };
  static constexpr uint16_t kNever = UINT16_MAX;
  // A filter of the bytes around the border that a merge crosses: the last two of its left token and the first two of its
  // right one, or fewer. What is not in it is in no merge. The place of three bytes is a word. In its lower half, two bits say
  // of them whether they are one of a left token and two of a right one, or two and one. In its upper half, a bit says whether
  // they are those of a merge after one byte more.
  struct Place {
    uint64_t hash;
    explicit Place(uint32_t three) : hash(three * 0x9E3779B97F4A7C15u) {}
    unsigned three_bit() const { return static_cast<unsigned>(hash >> 40) & 30; }
    unsigned four_bit(uint32_t before) const { return 32 | ((static_cast<unsigned>(hash >> 34) ^ before) & 31); }
  };
  // What is known of a byte, as the number of a bit: that there are merges across the border before it by the sizes of their
  // two tokens (across the border after it for kTwoAndOne), and that it and the next byte are merged, or are sure to be.
  enum Known : unsigned { kOneAndTwo, kTwoAndOne, kTwoAndTwo, kSure, kMerges };

  void add(const Outline& left, const Outline& right, uint32_t rank);
  uint64_t find_here(const uint8_t* p, const Pair* pairs) const;
  uint64_t find_portable(const uint8_t* p) const;
  uint64_t find_avx2(const uint8_t* p) const;
  uint64_t& word_of(const Place& place) { return filter_[place.hash >> filter_shift_]; }
  static size_t number(uint8_t first, uint8_t second) { return first | size_t{second} << 8; }
  const Pair& pair(uint8_t first, uint8_t second) const { return pairs_[number(first, second)]; }

  std::vector<Pair> pairs_;
  std::vector<uint64_t> filter_;
  std::vector<Character> characters_;
  unsigned shift_ = 0, filter_shift_ = 0;
  bool are_of_pieces_ = true;
};

}  // namespace tokcli
