// Making the tables of borders (borders.h) that an image has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bpe/borders/borders.h"
#include "bpe/vocabulary.h"

namespace tokcli {

class BorderBuilder {
 public:
  // Where the tables are made: pairs of 0xFF in each byte, the others of 0.
  struct Room {
    std::span<Borders::Pair> pairs;
    std::span<uint64_t> crossings;
    std::span<uint16_t> numbers;
    std::span<Borders::Character> characters;
  };
  // Of `tokens` only the bytes of ids are used, and which id a byte has.
  BorderBuilder(const Vocabulary& tokens, const Room& room);
  void add(std::span<const Vocabulary::Merge> merges);
  // Says whether every token is what its bytes merge into.
  bool are_of_pieces() const;

  // Returns whether a token is a character that may be sure: there is room for these.
  static bool may_be_character(const uint8_t* p, size_t size) {
    return size == 3 && (p[0] & 0xF0) == 0xE0 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80;
  }

 private:
  struct Outline;
  struct Threats;
  void add(const Outline& left, const Outline& right, uint32_t rank);
  void add_characters(Threats* threats);
  const Borders::Pair& pair(uint8_t first, uint8_t second) const { return room_.pairs[Borders::number(first, second)]; }

  const Vocabulary& tokens_;
  Room room_;
  std::vector<bool> is_made_;
  unsigned rank_shift_, crossing_bits_;
};

}  // namespace tokcli
