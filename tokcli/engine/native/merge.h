// Byte pair encoding of pieces, as bpe.py specifies it: join the neighbours whose token has the lowest rank, the leftmost
// of equals, until no two neighbours are a token. Ranks are ids.
//
// It is enough to know one merge for each token. Where two parts of a text are about to become a token T, nothing was
// merged across their outer ends; so what happened between these ends is what happens to the bytes of T alone, and the
// two parts are the last two that T comes from. (The Rust crate `bpe` rests on this too.) A vocabulary image holds these
// pairs, found by merging the bytes of every token; a token that merging does not arrive at has none.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "vocabulary.h"

namespace tokcli {

// A piece to be merged: size >= 1 bytes, out has room for as many ids; merging writes them and their count. kNone among
// them stands for a byte that the vocabulary lacks.
struct MergeJob {
  const uint8_t* p;
  uint32_t size, count;
  uint32_t* out;
};

// Memory that merging needs, kept between calls.
struct MergeScratch {
  std::vector<uint64_t> heap;
  std::vector<uint32_t> end, previous, rank, parts;
  std::array<std::vector<MergeJob*>, 3> queues;  // by size
};

void merge(const Vocabulary& vocabulary, std::span<MergeJob> jobs, MergeScratch& scratch);

// The two parts that become the token of these size >= 2 bytes; false where merging does not arrive at it. This one
// needs no merges in the vocabulary, only its tokens.
bool last_merge(const Vocabulary& vocabulary, const uint8_t* p, size_t size, MergeScratch& scratch,
                std::array<uint32_t, 2>& parts);

}  // namespace tokcli
