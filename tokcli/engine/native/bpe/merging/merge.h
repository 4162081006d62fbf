// Byte pair encoding of pieces, as engine/bpe/bpe.py specifies it: join the two neighbours whose token has the lowest
// rank, the leftmost of equals, until no two neighbours are a token. Ranks are ids.
//
// One merge for each token is all that has to be known. When two parts of a piece are about to become a token T, no
// merge has crossed the outer ends of the two. So all merges between these ends are those that happen to the bytes of T
// alone, and the two parts are always the same: the last two that T itself is merged from. (The Rust crate `bpe` rests
// on this too.) A vocabulary image has this pair for every token, found once by merging the token's own bytes. A token
// that its own bytes do not merge into has none: merging never makes it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/watch.h"
#include "bpe/merging/repeats.h"
#include "bpe/merging/short_merge.h"
#include "bpe/vocabulary.h"

namespace tokcli {

// A piece of `size` >= 1 bytes that is to be merged. `out` has room for as many ids as the piece has bytes. Merging writes
// their number to `count`, and the ids there, or to memory of MergeScratch where they stay until the next call, and then `out`
// leads to that. A byte that is no token has the id kNone.
struct MergeJob {
  const uint8_t* p;
  uint32_t size, count;
  uint32_t* out;
};

// A piece of at most kWindowBytes of which also the places of the tokens are wanted: in `starts`, bit i is set where a
// token begins at byte i, and the bit after the last byte is set.
struct MergeWindow : MergeJob {
  uint64_t starts;
};
constexpr size_t kWindowBytes = 62, kMostWindows = 48;

// A long piece while it is merged: all tokens before byte `at` are written, up to `next`; the one there is `expected`.
struct LongPiece {
  MergeJob* job;
  uint32_t* next;
  size_t at = 0;
  uint32_t expected = kNone;
  size_t heaps = 1;              // to go on with where windows do not fit together: more where they often do not
  size_t first = 0, count = 0;  // its windows
};

// The memory that merging needs, kept from call to call.
struct MergeScratch {
  GrowingBuffer<uint64_t> heap;
  GrowingBuffer<uint32_t> end, previous, rank, parts;
  ShortScratch short_pieces;                     // many short ones
  std::array<std::vector<MergeJob*>, 3> queues;  // jobs by size
  std::vector<LongPiece> long_pieces;
  std::vector<MergeWindow> windows;
  std::vector<MergeWindow*> window_queue;
  GrowingBuffer<uint32_t> window_ids;
  RepeatMerger repeats;
  Pace pace;
};

// Merges the pieces of all jobs.
void merge(const Vocabulary& vocabulary, std::span<MergeJob> jobs, MergeScratch& scratch);
void merge_windows(const Vocabulary& vocabulary, std::span<MergeWindow*> windows);
// Merges the pieces in scratch.long_pieces, of more than kWindowBytes each.
void merge_long(const Vocabulary& vocabulary, MergeScratch& scratch);

// Finds the last two parts of `size` >= 2 bytes that are a token, before they become it. Returns false where these
// bytes do not merge into it. Of the vocabulary only tokens are used, no merges: images are built with this.
bool last_merge(const Vocabulary& vocabulary, const uint8_t* p, size_t size, MergeScratch& scratch,
                std::array<uint32_t, 2>& parts);

}  // namespace tokcli
