// Byte pair encoding of one piece, as bpe.py specifies it: join the neighbours whose token has the lowest rank, the
// leftmost of equals, until no two neighbours are a token. Ranks are ids.
//
// It is enough to know one merge for each token. Where two parts of a text are about to become a token T, nothing was
// merged across their outer ends; so what happened between these ends is what happens to the bytes of T alone, and the
// two parts are the last two that T comes from. (The Rust crate `bpe` rests on this too.) A vocabulary image holds these
// pairs, found by merging the bytes of every token; a token that merging does not arrive at has none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vocabulary.h"

namespace tokcli {

// Above this many bytes a heap wins over scanning all ranks after each merge.
constexpr size_t kScanBytes = 64;

// Memory that merging needs, kept between pieces.
struct MergeScratch {
  std::vector<uint64_t> heap;
  std::vector<uint32_t> end, previous, rank, parts;
};

// The ids that merging leaves of size >= 1 bytes, written to out (room for size ids); how many. kNone among them stands
// for a byte that the vocabulary lacks.
size_t merge(const Vocabulary& vocabulary, const uint8_t* p, size_t size, MergeScratch& scratch, uint32_t* out);

// The two parts that become the token of these size >= 2 bytes; false where merging does not arrive at it. This one
// needs no merges in the vocabulary, only its tokens.
bool last_merge(const Vocabulary& vocabulary, const uint8_t* p, size_t size, MergeScratch& scratch,
                std::array<uint32_t, 2>& parts);

}  // namespace tokcli
