// Merging many short pieces together, as a batch of random letters, base64 or URLs has them: a merge of each, then the next
// of each that is not done. merge.cc takes them in turns; there, how often each piece merges, and how many bytes the next one
// has, is guessed wrong about once a piece, which is as long as two merges. (Profile: 1 MB of base64 is counted in seven
// eighths of the time.) See merge.h for what merging is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/id_buffer.h"
#include "bpe/vocabulary.h"

namespace tokcli {

struct MergeJob;

// A piece of at most kMostBytes while it is merged: its parts, one after another, and the rank of merging each with the next
// one. Before the first part and after the last one there is kNoPart, so that no end is a special case.
struct ShortPiece {
  static constexpr size_t kMostBytes = 8;
  std::array<int32_t, 1 + kMostBytes + 1> ranks;  // from the second one on; what is before is written, and never read
  uint32_t count;                                 // of parts
  MergeJob* job;
  std::array<uint32_t, 1 + kMostBytes + 1> parts;  // from the second one on
};

// The memory that merging them needs, kept from call to call.
struct ShortScratch {
  // The pairs that the last merge of a piece made: asked for, but not read yet.
  struct Open {
    Vocabulary::Question before, after;
    uint32_t piece, lowest;  // its number; the rank of the merge, above the place of its first part
  };
  std::array<std::vector<MergeJob*>, ShortPiece::kMostBytes + 1> jobs;  // by size
  GrowingBuffer<ShortPiece> pieces;
  GrowingBuffer<Open> open;
};

// Merges the pieces of s.jobs. Their ids stay in `s`, and `out` of each job leads there.
void merge_together(const Vocabulary& v, ShortScratch& s);

}  // namespace tokcli
