// Byte pair encoding of one piece, as bpe.py specifies it: join the neighbours whose token has the lowest rank, the
// leftmost of equals, until no two neighbours are a token. Ranks are ids.
#pragma once

#include <cstdint>
#include <vector>

#include "vocabulary.h"

namespace tokcli {

// Above this many bytes a heap wins over scanning all ranks after each merge.
constexpr size_t kScanBytes = 64;

// Memory that merging needs, kept between pieces.
struct MergeScratch {
  std::vector<uint64_t> heap;
  std::vector<uint32_t> end, previous, rank;
};

// The ids that merging leaves of size >= 1 bytes, written to out (room for size ids); how many. kNone among them stands
// for a byte that the vocabulary lacks. `readable` bytes may be read at p.
size_t merge(const Vocabulary& vocabulary, const uint8_t* p, size_t size, size_t readable, MergeScratch& scratch,
             uint32_t* out);

}  // namespace tokcli
