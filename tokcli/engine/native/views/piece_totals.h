// Totals over the pieces of a text, for `split --stats`: what of `PieceStats` in analysis/pieces takes long.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace tokcli {

// The number and the bytes of the pieces of each alternative; the index is the alternative's number.
struct AlternativeTotals {
  std::vector<uint64_t> pieces, bytes;
};
AlternativeTotals alternative_totals(std::span<const uint64_t> ends, std::span<const uint16_t> alternatives);

// A distinct piece of several ids, and how often it occurs.
struct SplitPiece {
  std::string_view bytes;
  uint32_t ids;
  uint64_t times;
};
// Returns the distinct pieces of a text that have several ids, in the order in which they first occur.
std::vector<SplitPiece> split_pieces(Bytes text, std::span<const uint64_t> ends, std::span<const uint32_t> counts);

// Returns the indexes of pieces that may be among the `wanted` longest distinct ones, of which pieces of at most `least`
// bytes are not. Pieces above `kept` bytes are distinct by their beginnings, so all of them may be. Of equal pieces only
// the first is there.
std::vector<uint64_t> long_pieces(Bytes text, std::span<const uint64_t> ends, size_t least, size_t wanted, size_t kept);

}  // namespace tokcli
