// Bytes that come from files: how much of them is UTF-8, and where records end. Both run at about the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace tokcli {

// Returns the number of bytes, from the beginning, that are whole characters of UTF-8.
size_t valid_utf8(Bytes text);

// The bytes at the beginning of a text that are a character, or could begin one together ("maximal subpart", section 3.9
// of the Unicode standard): at least one. `is_cut`: the text ends before it is certain which.
struct Utf8Sequence {
  size_t size;
  bool is_character, is_cut;
};
// Returns the first sequence of a text that is not empty.
Utf8Sequence first_sequence(Bytes text);

// Returns the places after each byte that is `separator`: there the records end that this byte separates.
std::vector<uint64_t> record_ends(Bytes data, uint8_t separator);

}  // namespace tokcli
