// Merging text that repeats itself: runs of one character, or of up to four bytes in turn.
//
// A run is kept as one unit and a number, not as its bytes: a million times U+0020. The pair of lowest rank is merged
// wherever it is at once: a million spaces become half a million pairs of spaces in one step, and those a quarter of a
// million fours. So a run of any length takes a few dozen steps, and the result is a few units with their numbers, too.
//
// This is what merging one pair after another does, the leftmost first, as long as no merge makes a pair of a lower rank
// than its own. Tokens that were learnt from a corpus never do; where it happens, these functions give up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpe/vocabulary.h"

namespace tokcli {

// A part in a row of parts of which some are repeated: `width` cells one after another are a unit, which is there
// `count` times. Both numbers, and `wrap`, are those of the unit's first cell.
struct RepeatCell {
  uint32_t part, size;  // size in bytes
  uint32_t count, width;
  uint32_t rank;        // of merging this cell with the next one
  uint32_t wrap;        // of merging a unit's last cell with the first one of the unit after it
};

class RepeatMerger {
 public:
  // Says whether text at p < p + size may be worth it, by its first bytes: at the cost of few instructions.
  static bool may_repeat(const uint8_t* p, size_t size);
  // Says whether text that is at least kRepeats bytes is nothing else at first.
  static constexpr size_t kRepeats = 52;
  static bool repeats(const uint8_t* p);
  // Merges text at p, as far as its runs fit the room of a window. Returns false where it hardly repeats itself, or one
  // pair after another has to be merged. Afterwards `cells` has the parts, which are those of the first `bytes` bytes.
  bool merge(const Vocabulary& vocabulary, const uint8_t* p, size_t size);
  const std::vector<RepeatCell>& cells() const { return cells_; }
  size_t bytes() const { return bytes_; }
  // Of a window that ends before the text does, tokens up to here may be kept.
  size_t sure_bytes() const { return sure_bytes_; }

 private:
  void read(const Vocabulary& vocabulary, const uint8_t* p, size_t size);
  uint32_t lowest(const Vocabulary& vocabulary, uint32_t made);
  bool open_units(uint32_t rank);
  void merge_all(uint32_t rank);
  void add(const RepeatCell& cell, uint32_t count);
  void add_unit(const RepeatCell* cells, uint32_t width, uint32_t count);
  void add_made(uint32_t part, uint32_t size, uint32_t count);
  void merge_in_unit(const RepeatCell* cells, uint32_t rank);

  std::vector<RepeatCell> cells_, next_;
  uint32_t left_ = kNone;  // the left part of the pairs of the lowest rank
  size_t bytes_ = 0, sure_bytes_ = 0;
};

}  // namespace tokcli
